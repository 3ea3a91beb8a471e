// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/loop.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define EVENTS_AT_ONCE 64

struct loop {
	int epoll_fd;
	bool stopped;
	int nice;		   /* of its workers */
	struct loop_timer *timers; /* soonest first */
	struct epoll_event events[EVENTS_AT_ONCE];
	int events_count, events_next;

	/* When the last callback ended, or epoll_wait() did: the next callback begins then. */
	uint64_t mark_ns;
	uint64_t inner_ns; /* time of callbacks that the running one has called (loop_flush()) */
	struct loop_stalls stalls;

	struct loop_watch posted_watch; /* an eventfd */
	pthread_mutex_t lock;
	struct loop_call *posted, **posted_end;
};

uint64_t loop_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t loop_real_ns(void)
{
	return (int64_t)clock_ns(CLOCK_REALTIME);
}

/* Runs a callback, and counts the time that it took without those that it called itself. */
static void call_back(struct loop *loop, void (*run)(void *arg), void *arg, const char *name)
{
	uint64_t began_ns = loop->mark_ns, inner_ns = loop->inner_ns;

	loop->inner_ns = 0;
	run(arg);
	loop->mark_ns = loop_now_ns();
	uint64_t took_ns = loop->mark_ns - began_ns;
	loop_stalls_add(&loop->stalls, name, took_ns - loop->inner_ns);
	loop->inner_ns = inner_ns + took_ns;
}

/* Runs the posted calls. Returns false if there were none. */
static bool run_calls(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	struct loop_call *call = loop->posted;
	loop->posted = NULL;
	loop->posted_end = &loop->posted;
	pthread_mutex_unlock(&loop->lock);
	bool any = call != NULL;
	while (call) {
		struct loop_call *next = call->next;

		call_back(loop, call->run, call->arg, call->name);
		call = next;
	}
	return any;
}

static void run_posted(void *arg)
{
	struct loop *loop = arg;
	uint64_t ignored;

	if (read(loop->posted_watch.fd, &ignored, sizeof(ignored)) == sizeof(ignored))
		run_calls(loop);
}

void loop_flush(struct loop *loop)
{
	loop->mark_ns = loop_now_ns();
	while (run_calls(loop))
		;
}

int loop_new(struct loop **ret)
{
	_cleanup_(loop_freep) struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	pthread_mutex_init(&loop->lock, NULL);
	loop->nice = getpriority(PRIO_PROCESS, 0);
	loop_stalls_init(&loop->stalls);
	loop->posted_end = &loop->posted;
	loop->posted_watch =
		(struct loop_watch){.fd = -1, .ready = run_posted, .arg = loop, .name = "loop"};
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		return -errno;
	loop->posted_watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->posted_watch.fd < 0)
		return -errno;
	int r = loop_watch(loop, &loop->posted_watch);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(loop);
	return 0;
}

int loop_nice(const struct loop *loop)
{
	return loop->nice;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	if (loop->posted_watch.fd >= 0)
		close(loop->posted_watch.fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
}

static int add_watch(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) < 0 ? -errno : 0;
}

int loop_watch(struct loop *loop, struct loop_watch *watch)
{
	return add_watch(loop, watch, EPOLLIN);
}

int loop_watch_hangup(struct loop *loop, struct loop_watch *watch)
{
	return add_watch(loop, watch, EPOLLRDHUP | EPOLLHUP);
}

int loop_watch_priority(struct loop *loop, struct loop_watch *watch)
{
	return add_watch(loop, watch, EPOLLPRI);
}

int loop_watch_room(struct loop *loop, struct loop_watch *watch)
{
	return add_watch(loop, watch, EPOLLOUT);
}

void loop_unwatch(struct loop *loop, struct loop_watch *watch)
{
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	for (int i = loop->events_next; i < loop->events_count; i++) {
		if (loop->events[i].data.ptr == watch)
			loop->events[i].data.ptr = NULL;
	}
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
	if (!timer->active)
		return;
	struct loop_timer **at = &loop->timers;
	while (*at != timer)
		at = &(*at)->next;
	*at = timer->next;
	timer->active = false;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_ns)
{
	loop_timer_cancel(loop, timer);
	timer->at_ns = at_ns;
	timer->active = true;
	struct loop_timer **at = &loop->timers;
	while (*at && (*at)->at_ns <= at_ns)
		at = &(*at)->next;
	timer->next = *at;
	*at = timer;
}

static void run_timers(struct loop *loop)
{
	uint64_t now = loop->mark_ns;

	while (loop->timers && loop->timers->at_ns <= now) {
		struct loop_timer *timer = loop->timers;

		loop_timer_cancel(loop, timer);
		call_back(loop, timer->expired, timer->arg, timer->name);
	}
}

static int timeout_ms(const struct loop *loop)
{
	if (!loop->timers)
		return -1;
	uint64_t now = loop->mark_ns, at = loop->timers->at_ns;
	if (at <= now)
		return 0;
	uint64_t ms = (at - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

static void run_ready(struct loop *loop)
{
	while (loop->events_next < loop->events_count) {
		struct loop_watch *watch = loop->events[loop->events_next++].data.ptr;

		if (watch)
			call_back(loop, watch->ready, watch->arg, watch->name);
	}
}

int loop_run(struct loop *loop)
{
	loop->stopped = false;
	loop->mark_ns = loop_now_ns();
	while (!loop->stopped) {
		int n = epoll_wait(loop->epoll_fd, loop->events, EVENTS_AT_ONCE, timeout_ms(loop));

		if (n < 0 && errno != EINTR)
			return -errno;
		loop->events_count = n > 0 ? n : 0;
		loop->events_next = 0;
		uint64_t began_ns = loop->mark_ns = loop_now_ns();
		run_ready(loop);
		run_timers(loop);
		loop_stalls_add_turn(&loop->stalls, loop->mark_ns - began_ns);
	}
	return 0;
}

const struct loop_stalls *loop_stalls(const struct loop *loop)
{
	return &loop->stalls;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}

void loop_post(struct loop *loop, struct loop_call *call)
{
	uint64_t one = 1;

	call->next = NULL;
	pthread_mutex_lock(&loop->lock);
	*loop->posted_end = call;
	loop->posted_end = &call->next;
	pthread_mutex_unlock(&loop->lock);
	/* write() fails only if the eventfd's counter is full: then the loop is awake anyway. */
	if (write(loop->posted_watch.fd, &one, sizeof(one)) < 0)
		return;
}

void loop_unpost(struct loop *loop, struct loop_call *call)
{
	pthread_mutex_lock(&loop->lock);
	for (struct loop_call **at = &loop->posted; *at; at = &(*at)->next) {
		if (*at != call)
			continue;
		*at = call->next;
		if (loop->posted_end == &call->next)
			loop->posted_end = at;
		break;
	}
	pthread_mutex_unlock(&loop->lock);
}
