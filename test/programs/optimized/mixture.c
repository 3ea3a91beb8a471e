/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mixture: what ordinary programs ask of a C library, in turns until it is killed: main -> sorts ->
 * qsort() -> compare, prints -> snprintf(), allocates -> malloc() and free(), copies -> memset().
 * (mixture THREADS: each thread does, in run.)
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "level.h"

#define NUMBERS 20000
#define BLOCKS	500

static __thread char text[4096];

LEVEL int compare(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return (left > right) - (left < right);
}

LEVEL int sorts(void)
{
	int *numbers = malloc(NUMBERS * sizeof(*numbers));
	unsigned seed = 1;

	for (int i = 0; i < NUMBERS; i++) {
		seed = seed * 1103515245u + 12345u;
		numbers[i] = (int)(seed >> 8);
	}
	qsort(numbers, NUMBERS, sizeof(*numbers), compare);
	int middle = numbers[NUMBERS / 2];
	free(numbers);
	return middle;
}

LEVEL int prints(void)
{
	int sum = 0;

	for (int i = 0; i < 3000; i++)
		sum += snprintf(text, sizeof(text), "%d %s %f %x", i, "of a text", i * 1.5, i * 77);
	return sum;
}

LEVEL int allocates(void)
{
	void *blocks[BLOCKS];
	int sum = 0;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < BLOCKS; i++) {
			blocks[i] = malloc((size_t)i * 7 + 1);
			sum += blocks[i] != NULL;
		}
		for (int i = 0; i < BLOCKS; i++)
			free(blocks[i]);
	}
	return sum;
}

LEVEL int copies(void)
{
	int sum = 0;

	for (int i = 0; i < 3000; i++) {
		memset(text, 'a' + i % 20, sizeof(text) - 1);
		sum += (int)strlen(text);
	}
	return sum;
}

LEVEL static void *run(void *arg)
{
	volatile int sum = 0;

	for (;;) {
		sum = sum + sorts();
		sum = sum + prints();
		sum = sum + allocates();
		sum = sum + copies();
	}
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;

	for (int i = 0; i < threads; i++)
		pthread_create(&thread, NULL, run, NULL);
	if (threads)
		pthread_join(thread, NULL);
	run(NULL);
	return 0;
}
