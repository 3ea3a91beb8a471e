/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hang: six threads that block for good, each in a function of its own, and main. `first` and
 * `second` hold a mutex and want the other's. hang_vfork is in state D: a child that never ends has
 * its memory.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "wait.h"

static pthread_mutex_t mutexes[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both_hold;
static int pipes[2];

LEVEL static void lock_both(pthread_mutex_t *mine, pthread_mutex_t *others)
{
	pthread_mutex_lock(mine);
	pthread_barrier_wait(&both_hold);
	pthread_mutex_lock(others);
	keep_frame();
}

LEVEL static void hang_first(void)
{
	lock_both(&mutexes[0], &mutexes[1]);
}

LEVEL static void hang_second(void)
{
	lock_both(&mutexes[1], &mutexes[0]);
}

LEVEL static void hang_read(void)
{
	char byte;

	keep_frame();
	if (read(pipes[0], &byte, 1) != 1)
		abort();
}

LEVEL static void hang_poll(void)
{
	struct pollfd fd = {.fd = pipes[0], .events = POLLIN};

	keep_frame();
	poll(&fd, 1, -1);
}

LEVEL static void hang_sleep(void)
{
	keep_frame();
	sleep(3600);
}

LEVEL static void hang_vfork(void)
{
	keep_frame();
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

LEVEL static void hang_main(void)
{
	keep_frame();
	pause();
}

static void (*const hangs[])(void) = {hang_first, hang_second, hang_read,
				      hang_poll,  hang_sleep,  hang_vfork};

static void *run(void *arg)
{
	(*(void (*const *)(void))arg)();
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_barrier_init(&both_hold, NULL, 2);
	if (pipe(pipes) < 0)
		return 1;
	for (unsigned i = 0; i < sizeof(hangs) / sizeof(hangs[0]); i++)
		if (pthread_create(&thread, NULL, run, (void *)&hangs[i]))
			return 1;
	hang_main();
	return 0;
}
