/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strands SECONDS: two threads burn that much CPU time each, one made by pthread_create() in
 * run -> thread_work, one by clone() in run_cloned -> clone_work.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "level.h"

#define STACK_BYTES 262144

static uint64_t length_ns;
static volatile uint64_t sums[2];
static volatile int cloned_ended;

LEVEL static void thread_work(void)
{
	use_frame_register();
	sums[0] = burn_ns(length_ns);
}

LEVEL static void *run(void *arg)
{
	thread_work();
	return arg;
}

LEVEL static void clone_work(void)
{
	use_frame_register();
	sums[1] = burn_ns(length_ns);
}

LEVEL static int run_cloned(void *arg)
{
	(void)arg;
	clone_work();
	cloned_ended = 1;
	return 0;
}

int main(int argc, char **argv)
{
	static char stack[STACK_BYTES] __attribute__((aligned(64)));
	pthread_t thread;

	length_ns = seconds_ns(argc > 1 ? argv[1] : "1");
	if (pthread_create(&thread, NULL, run, NULL) ||
	    clone(run_cloned, stack + STACK_BYTES,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
		  NULL) < 0)
		return 1;
	pthread_join(thread, NULL);
	while (!cloned_ended)
		usleep(1000);
	usleep(10000); /* it ends without anybody to wait for it */
	return 0;
}
