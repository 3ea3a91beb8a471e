/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * churn [-s] [-w] THREADS [SECONDS]: threads that allocate, write, check and free without a pause,
 * in run -> level_3 -> level_2 -> level_1. What isn't as it was written ends it by a signal. It
 * ends well at SIGTERM or when SECONDS are over, and tells how many allocations that were, of how
 * many bytes; all are freed then. -s: it may make none of the system calls that the kernel has for
 * its own trampolines; they kill it, as in a container. -w: it stands by before.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "heap.h"

#define THREADS_MAX 64
#define BLOCKS	    64

static volatile sig_atomic_t over;

static void end(int number)
{
	over = number;
}

static void check(const unsigned char *memory, size_t bytes, unsigned char mark)
{
	if (memory && (memory[0] != mark || memory[bytes - 1] != mark))
		abort();
}

/* uretprobe is 335, uprobe 336; what glibc needs is below, or from 424 on. */
static void sandbox(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 335, 0, 1),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 424, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

/* Of a thread. */
struct worker {
	pthread_t thread;
	uint64_t seed, objects, bytes;
};

struct block {
	unsigned char *memory;
	size_t bytes;
};

/* Frees a block or makes it another one. */
LEVEL static void level_1(struct block *block, uint64_t random)
{
	unsigned char mark = (unsigned char)(uintptr_t)block;
	size_t bytes = 1 + random % 2000;

	check(block->memory, block->bytes, mark);
	if (random >> 20 & 1) {
		block->memory = realloc(block->memory, bytes);
	} else {
		free(block->memory);
		block->memory = random >> 21 & 1 ? malloc(bytes) : calloc(1, bytes);
	}
	if (!block->memory)
		abort();
	block->bytes = bytes;
	memset(block->memory, mark, bytes);
	keep_frame();
}

LEVEL static void level_2(struct block *block, uint64_t random)
{
	level_1(block, random);
	keep_frame();
}

LEVEL static void level_3(struct block *block, uint64_t random)
{
	level_2(block, random);
	keep_frame();
}

LEVEL static void *run(void *mine)
{
	struct worker *worker = mine;
	uint64_t x = worker->seed * 2 + 1;
	struct block blocks[BLOCKS] = {0};

	while (!over) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		struct block *block = &blocks[x >> 33 & (BLOCKS - 1)];
		level_3(block, x >> 39);
		worker->objects++;
		worker->bytes += block->bytes;
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		free(blocks[i].memory);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	uint64_t objects = 0, bytes = 0;

	if (argc > 1 && strcmp(argv[1], "-s") == 0) {
		sandbox();
		argc--;
		argv++;
	}
	if (argc > 1 && strcmp(argv[1], "-w") == 0) {
		stand_by();
		argc--;
		argv++;
	}
	unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	if (!count || count > THREADS_MAX)
		return 2;
	signal(SIGTERM, end);
	signal(SIGALRM, end);
	if (argc > 2)
		alarm((unsigned)strtoul(argv[2], NULL, 10));
	for (unsigned i = 0; i < count; i++) {
		workers[i].seed = i;
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
			abort();
	}
	printf("{\"pid\": %d}\n", (int)getpid());
	fflush(stdout);
	for (unsigned i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		objects += workers[i].objects;
		bytes += workers[i].bytes;
	}
	printf("{\"objects\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", objects, bytes);
	return 0;
}
