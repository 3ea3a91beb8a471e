/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handoff SECONDS CPU [PATHS]: two threads on one CPU that wake each other and wait, each time from
 * the next of 50 (PATHS) call paths of 10 to 20 frames. (SCHED_BATCH: who is woken does not drive
 * out who wakes, so each switch is a wait.) At its end it prints as JSON: waits, those that left
 * the CPU unasked, wall time, and the time both threads together were off their CPU. For benches.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "level.h"

#define PATHS	    50
#define SHORTEST    5 /* frames of a path; below them lie three, above them two */
#define LENGTHS	    11
#define CLOCK_EVERY 1024 /* waits */

/* `left` to go; which way, the path's lowest bit says. */
typedef void level(unsigned left, unsigned path);

extern level *const levels[];

static struct thread {
	pthread_t thread;
	uint64_t waits, wall_ns, cpu_ns;
	long unasked;
} threads[2];

static uint32_t turn; /* whose: 0 or 1 */
static int ended;
static unsigned paths = PATHS;
static uint64_t length_ns;
static cpu_set_t cpus;
static _Thread_local uint32_t self;

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void hand_over(void)
{
	__atomic_store_n(&turn, !self, __ATOMIC_RELEASE);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

LEVEL static void hand_over_and_wait(void)
{
	hand_over();
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != self)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !self, NULL, NULL, 0);
}

BURN_INLINE void go_down(unsigned left, unsigned path)
{
	if (left)
		levels[left * 2 - 1 - (path & 1)](left - 1, path >> 1);
	else
		hand_over_and_wait();
}

/* clang-format off */
#define ONE(n)                                                     \
	LEVEL static void w##n(unsigned left, unsigned path)       \
	{                                                          \
		char room[1 + (1##n - 100) * 37 % 200];            \
								   \
		__asm__ volatile("" : : "r"(room) : "memory");     \
		go_down(left, path);                               \
	}

#define TEN(each, n)                                               \
	each(n##0) each(n##1) each(n##2) each(n##3) each(n##4)     \
	each(n##5) each(n##6) each(n##7) each(n##8) each(n##9)
#define ALL(each) TEN(each, 0) TEN(each, 1) TEN(each, 2)
/* clang-format on */

ALL(ONE)

#define NAME(n) w##n,
level *const levels[] = {ALL(NAME)};

LEVEL static void *run(void *arg)
{
	const struct sched_param none = {0};
	struct thread *thread = arg;
	uint64_t began_ns, began_cpu_ns;
	struct rusage usage;
	unsigned path = 0;

	self = (uint32_t)(thread - threads);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
	hand_over_and_wait(); /* both are there */
	began_ns = wall_ns();
	began_cpu_ns = thread_cpu_ns();
	while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
		go_down(SHORTEST + path % LENGTHS, path);
		path = (path + 1) % paths;
		if (++thread->waits % CLOCK_EVERY == 0 && wall_ns() - began_ns >= length_ns)
			__atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
	}
	thread->cpu_ns = thread_cpu_ns() - began_cpu_ns;
	thread->wall_ns = wall_ns() - began_ns;
	getrusage(RUSAGE_THREAD, &usage);
	thread->unasked = usage.ru_nivcsw;
	hand_over();
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	length_ns = seconds_ns(argv[1]);
	CPU_SET((unsigned)atoi(argv[2]), &cpus);
	if (argc > 3)
		paths = (unsigned)atoi(argv[3]);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i].thread, NULL, run, &threads[i]))
			return 1;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i].thread, NULL);
	printf("{\"waits\": %" PRIu64 ", \"unasked\": %ld, \"wall_ns\": %" PRIu64
	       ", \"off_ns\": %" PRIu64 "}\n",
	       threads[0].waits + threads[1].waits, threads[0].unasked + threads[1].unasked,
	       threads[0].wall_ns,
	       threads[0].wall_ns - threads[0].cpu_ns + threads[1].wall_ns - threads[1].cpu_ns);
	return 0;
}
