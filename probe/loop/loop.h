/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event loop on epoll: watches file descriptors, runs timers and calls that other threads post,
 * all on the thread that calls loop_run(). Without timers and events the loop sleeps. Loop thread
 * only, except loop_post() and the clocks.
 *
 * The `name` of a callback is that of its owner: a static string, a short noun of letters, which
 * /metrics has as a cause of stalls (loop/loop_stalls.h). NULL: "other".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "loop/loop_stalls.h"

struct loop;

/* Returns 0, -ENOMEM, or the negative errno of epoll or eventfd. The caller owns *ret. */
int loop_new(struct loop **ret);
void loop_free(struct loop *loop);

/* Returns the nice value of its workers' threads, but for worker_set_nice(): that of the thread
 * that made the loop. */
int loop_nice(const struct loop *loop);

static inline void loop_freep(struct loop **loop)
{
	loop_free(*loop);
}

/* Runs the loop until a callback calls loop_stop(). Returns 0, or the negative errno of
 * epoll_wait(). */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* Calls ready(arg) whenever `fd` can be read. */
struct loop_watch {
	int fd;
	void (*ready)(void *arg);
	void *arg;
	const char *name;
};
/* Begins to watch a descriptor. `watch` is borrowed until loop_unwatch(). ready() may unwatch any
 * watch, also its own. Returns 0, or the negative errno of epoll_ctl(). */
int loop_watch(struct loop *loop, struct loop_watch *watch);
/* Like loop_watch(), but calls ready() only when the peer of a socket has closed its side or both,
 * whatever the peer sent before. */
int loop_watch_hangup(struct loop *loop, struct loop_watch *watch);
/* Like loop_watch(), but calls ready() when the file has something out of the ordinary to tell
 * (EPOLLPRI), or has an error. */
int loop_watch_priority(struct loop *loop, struct loop_watch *watch);
/* Like loop_watch(), but calls ready() whenever `fd` has room for what is written: a pipe for
 * PIPE_BUF bytes. -EPERM: the file, a regular one, always has. */
int loop_watch_room(struct loop *loop, struct loop_watch *watch);
void loop_unwatch(struct loop *loop, struct loop_watch *watch);

/* A timer, which calls expired(arg) once. All but the first three fields are the loop's. */
struct loop_timer {
	void (*expired)(void *arg);
	void *arg;
	const char *name;
	uint64_t at_ns;
	bool active;
	struct loop_timer *next;
};
/* Sets or moves the timer to `at_ns` (loop_now_ns()). `timer` is borrowed until it has expired or
 * is cancelled. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_ns);
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

/* A call that any thread can post. `next` is the loop's. */
struct loop_call {
	void (*run)(void *arg);
	void *arg;
	const char *name;
	struct loop_call *next;
};
/* Has the loop's thread run call->run(call->arg), soon. Any thread. `call` is borrowed until then.
 */
void loop_post(struct loop *loop, struct loop_call *call);

/* Runs all posted calls, also those that these calls post, until none is left. For the daemon's
 * end, when loop_run() has returned. */
void loop_flush(struct loop *loop);

/* Takes back a posted call that hasn't run; does nothing if `call` isn't posted. */
void loop_unpost(struct loop *loop, struct loop_call *call);

/* Returns how long callbacks took, by their names. Borrowed, until loop_free(). */
const struct loop_stalls *loop_stalls(const struct loop *loop);

/* Returns CLOCK_MONOTONIC, ns, the clock of bpf_ktime_get_ns(). */
uint64_t loop_now_ns(void);

/* Returns CLOCK_REALTIME, ns since 1970. This clock may be set, also backwards. */
int64_t loop_real_ns(void);
