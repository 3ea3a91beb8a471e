// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * branches COUNT DEPTH [faults]: allocates so many times, each in a stack of its own: DEPTH levels
 * of `trunk`, then one of `left` and `right` for each bit of the number. With `faults` it touches a
 * fresh page there instead. Stands by before it begins, and when it has told how often it did.
 */
#define _GNU_SOURCE
#include "wait.h"

#include <sys/mman.h>

#define PAGE	4096
#define BITS	17
#define AT_ONCE 100 /* then who reads the stacks may come */

static unsigned long left(unsigned long number, unsigned bits);
static unsigned long right(unsigned long number, unsigned bits);

static char *page; /* NULL: it allocates */

/* A page fault. */
static unsigned long touch(void)
{
	*(volatile char *)page = 1;
	return 1;
}

static unsigned long leaf(void)
{
	if (page)
		return touch();
	void *memory = malloc(64);

	__asm__ volatile("" : "+r"(memory) : : "memory");
	free(memory);
	return 1;
}

BURN_INLINE unsigned long branch(unsigned long number, unsigned bits)
{
	if (!bits)
		return leaf();
	return number & 1 ? right(number >> 1, bits - 1) : left(number >> 1, bits - 1);
}

static unsigned long left(unsigned long number, unsigned bits)
{
	return branch(number, bits) + 1;
}

static unsigned long right(unsigned long number, unsigned bits)
{
	return branch(number, bits) + 2;
}

static unsigned long trunk(unsigned long number, long depth)
{
	return depth > 0 ? trunk(number, depth - 1) + 1 : branch(number, BITS);
}

int main(int argc, char **argv)
{
	struct timespec rest = {.tv_nsec = 1000000};
	unsigned long count;

	if (argc < 3)
		return 2;
	count = strtoul(argv[1], NULL, 10);
	if (argc > 3)
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 1;
	stand_by();
	for (unsigned long i = 0; i < count; i++) {
		if (page)
			madvise(page, PAGE, MADV_DONTNEED);
		trunk(i, atol(argv[2]));
		if (i % AT_ONCE == 0)
			nanosleep(&rest, NULL);
	}
	printf("{\"count\": %lu", count);
	answer_end();
	return 0;
}
