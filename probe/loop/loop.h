/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event loop: file descriptors, timers, and calls posted from other threads, all run on the
 * thread that calls loop_run(). Without timers and events it sleeps for ever.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* Negative errno of epoll or eventfd. */
int loop_new(struct loop **ret);
void loop_free(struct loop *loop);
static inline void loop_freep(struct loop **loop)
{
	loop_free(*loop);
}

/* Until loop_stop(); 0 or the negative errno of epoll_wait. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/*
 * Watches a file descriptor; `watch` stays the caller's and must live until loop_unwatch(). The
 * callback may unwatch any watch, its own included. Negative errno of epoll_ctl.
 */
struct loop_watch {
	int fd;
	void (*ready)(void *arg);
	void *arg;
};
int loop_watch(struct loop *loop, struct loop_watch *watch);
/* The same, but of a socket's end alone: the peer has closed its side or both, whatever it may have
 * sent before. */
int loop_watch_hangup(struct loop *loop, struct loop_watch *watch);
void loop_unwatch(struct loop *loop, struct loop_watch *watch);

/* A timer runs once, at `at_ns` of loop_now_ns(). Setting it again moves it. */
struct loop_timer {
	void (*expired)(void *arg);
	void *arg;
	uint64_t at_ns;
	bool active;
	struct loop_timer *next;
};
void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_ns);
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

/* Runs `call->run` on the loop's thread, soon. From any thread; `call` stays the caller's. */
struct loop_call {
	void (*run)(void *arg);
	void *arg;
	struct loop_call *next;
};
void loop_post(struct loop *loop, struct loop_call *call);

/* Runs what was posted, and what that posts, until there is nothing; for the end, when loop_run()
 * has returned. */
void loop_flush(struct loop *loop);

/* Takes back what was posted and hasn't run; nothing where that isn't so. On the loop's thread. */
void loop_unpost(struct loop *loop, struct loop_call *call);

/* CLOCK_MONOTONIC, as bpf_ktime_get_ns(). */
uint64_t loop_now_ns(void);

/* CLOCK_REALTIME, since 1970: it may be set. */
int64_t loop_real_ns(void);

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL
