/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handover futex|pipe|yield ROUNDS: two threads, ping and pong, hand a turn to each other. ping
 * waits in ping_wait, pong in pong_wait. yield: they call sched_yield() only, and never block. Both
 * are still there when it has told its answer.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wait.h"

struct side {
	const char *name;
	uint32_t turn; /* its own when this is 1 */
	int pipes[2];  /* or when there is a byte in it */
	void (*wait)(struct side *mine);
	struct side *other;
	struct waits waits;
};

static char mode;
static pthread_barrier_t done;
static uint64_t rounds;

BURN_INLINE void take_turn(struct side *mine)
{
	struct wait wait;
	char byte;

	keep_frame();
	if (mode == 'y') {
		sched_yield();
		return;
	}
	wait = wait_begin();
	if (mode == 'p') {
		if (read(mine->pipes[0], &byte, 1) != 1)
			abort();
	} else {
		while (__atomic_load_n(&mine->turn, __ATOMIC_ACQUIRE) == 0)
			syscall(SYS_futex, &mine->turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		__atomic_store_n(&mine->turn, 0, __ATOMIC_RELAXED);
	}
	wait_end(&mine->waits, &wait, 0);
}

LEVEL static void ping_wait(struct side *mine)
{
	take_turn(mine);
}

LEVEL static void pong_wait(struct side *mine)
{
	take_turn(mine);
}

static void give_turn(struct side *to)
{
	if (mode == 'p' && write(to->pipes[1], "x", 1) != 1)
		abort();
	if (mode != 'f')
		return;
	__atomic_store_n(&to->turn, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &to->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *play(void *arg)
{
	struct side *mine = arg;

	pthread_setname_np(pthread_self(), mine->name);
	for (uint64_t i = 0; i < rounds; i++) {
		mine->wait(mine);
		give_turn(mine->other);
	}
	pthread_barrier_wait(&done);
	pause();
	return NULL;
}

int main(int argc, char **argv)
{
	struct side sides[] = {{.name = "ping", .wait = ping_wait, .other = &sides[1]},
			       {.name = "pong", .wait = pong_wait, .other = &sides[0]}};
	pthread_t thread;

	if (argc < 3 || !strchr("fpy", argv[1][0]))
		return 2;
	mode = argv[1][0];
	rounds = strtoul(argv[2], NULL, 10);
	pthread_barrier_init(&done, NULL, 3);
	stand_by();
	for (int i = 0; i < 2; i++) {
		sides[i].waits = waits_new(sides[i].name, 0);
		if (pipe(sides[i].pipes) < 0 || pthread_create(&thread, NULL, play, &sides[i]))
			return 1;
	}
	give_turn(&sides[0]);
	pthread_barrier_wait(&done);
	printf("{");
	waits_print(&sides[0].waits);
	printf(", ");
	waits_print(&sides[1].waits);
	answer_end();
	return 0;
}
