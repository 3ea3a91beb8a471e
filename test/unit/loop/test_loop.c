// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "loop/loop.h"

/* What happened, in order. */
struct story {
	struct loop *loop;
	char text[64];
	size_t len;
	size_t end; /* stops the loop at this length */
};

struct event {
	struct story *story;
	char letter;
};

static void tell(void *arg)
{
	struct event *event = arg;
	struct story *story = event->story;

	assert_true(story->len + 1 < sizeof(story->text));
	story->text[story->len++] = event->letter;
	if (story->len == story->end)
		loop_stop(story->loop);
}

static void timers_run_in_order_of_time_and_then_of_setting(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	static const uint64_t delays_ms[] = {30, 10, 20, 10, 0};
	struct loop_timer timers[5];
	struct event events[5];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	struct story story = {.loop = loop, .end = 5};
	uint64_t now = loop_now_ns();
	for (int i = 0; i < 5; i++) {
		events[i] = (struct event){&story, (char)('a' + i)};
		timers[i] = (struct loop_timer){.expired = tell, .arg = &events[i]};
		loop_timer_set(loop, &timers[i], now + delays_ms[i] * NS_PER_MS);
	}
	assert_int_equal(loop_run(loop), 0);
	assert_string_equal(story.text, "ebdca");
	assert_true(loop_now_ns() - now >= 30 * NS_PER_MS);
	assert_false(timers[0].active);
}

static void a_timer_set_again_moves_and_one_cancelled_does_not_run(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	struct story story = {.loop = loop, .end = 2};
	struct event events[] = {{&story, 'a'}, {&story, 'b'}, {&story, 'c'}};
	struct loop_timer timers[3];
	uint64_t now = loop_now_ns();
	for (int i = 0; i < 3; i++) {
		timers[i] = (struct loop_timer){.expired = tell, .arg = &events[i]};
		loop_timer_set(loop, &timers[i], now + (uint64_t)(i + 1) * NS_PER_MS);
	}
	loop_timer_set(loop, &timers[0], now + 20 * NS_PER_MS);
	loop_timer_cancel(loop, &timers[1]);
	loop_timer_cancel(loop, &timers[1]);
	assert_int_equal(loop_run(loop), 0);
	assert_string_equal(story.text, "ca");
}

struct canceller {
	struct loop *loop;
	struct loop_timer *other;
	struct event event;
};

static void cancel_other(void *arg)
{
	struct canceller *canceller = arg;

	loop_timer_cancel(canceller->loop, canceller->other);
	tell(&canceller->event);
}

static void a_timer_may_cancel_another_that_is_due(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	struct story story = {.loop = loop, .end = 2};
	struct event never = {&story, 'n'}, last = {&story, 'l'};
	struct loop_timer victim = {.expired = tell, .arg = &never};
	struct canceller canceller = {loop, &victim, {&story, 'c'}};
	struct loop_timer first = {.expired = cancel_other, .arg = &canceller};
	struct loop_timer end = {.expired = tell, .arg = &last};

	loop_timer_set(loop, &first, 1);
	loop_timer_set(loop, &victim, 2);
	loop_timer_set(loop, &end, loop_now_ns() + NS_PER_MS);
	assert_int_equal(loop_run(loop), 0);
	assert_string_equal(story.text, "cl");
}

#define POSTS 2000

struct poster {
	struct loop *loop;
	struct loop_call calls[POSTS];
	int number; /* of the poster */
	struct arrivals *arrivals;
};

struct arrivals {
	struct loop *loop;
	int next[4]; /* of each poster */
	int count;
};

struct posted {
	struct poster *poster;
	int i;
};

static struct posted posted[4][POSTS];

static void arrive(void *arg)
{
	struct posted *post = arg;
	struct arrivals *arrivals = post->poster->arrivals;

	assert_int_equal(arrivals->next[post->poster->number]++, post->i);
	if (++arrivals->count == 4 * POSTS)
		loop_stop(arrivals->loop);
}

static void *post_all(void *arg)
{
	struct poster *poster = arg;

	for (int i = 0; i < POSTS; i++) {
		posted[poster->number][i] = (struct posted){poster, i};
		poster->calls[i] =
			(struct loop_call){.run = arrive, .arg = &posted[poster->number][i]};
		loop_post(poster->loop, &poster->calls[i]);
	}
	return NULL;
}

static void posts_of_several_threads_arrive_all_and_in_order(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	static struct poster posters[4];
	pthread_t threads[4];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	struct arrivals arrivals = {.loop = loop};
	for (int i = 0; i < 4; i++) {
		posters[i] = (struct poster){.loop = loop, .number = i, .arrivals = &arrivals};
		assert_int_equal(pthread_create(&threads[i], NULL, post_all, &posters[i]), 0);
	}
	assert_int_equal(loop_run(loop), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(arrivals.count, 4 * POSTS);
}

struct pipe_watch {
	struct loop *loop;
	struct loop_watch watch, *other;
	int runs;
};

static void unwatch_both(void *arg)
{
	struct pipe_watch *pipe_watch = arg;

	pipe_watch->runs++;
	loop_unwatch(pipe_watch->loop, pipe_watch->other);
	loop_unwatch(pipe_watch->loop, &pipe_watch->watch);
}

static void a_watch_may_unwatch_itself_and_another_that_is_ready(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	struct pipe_watch watches[2];
	int fds[2][2];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe(fds[i]), 0);
		assert_int_equal(write(fds[i][1], "x", 1), 1);
		watches[i] = (struct pipe_watch){
			.loop = loop,
			.watch = {.fd = fds[i][0], .ready = unwatch_both, .arg = &watches[i]},
			.other = &watches[1 - i].watch,
		};
		assert_int_equal(loop_watch(loop, &watches[i].watch), 0);
	}
	struct story story = {.loop = loop, .end = 1};
	struct event event = {&story, 'e'};
	struct loop_timer end = {.expired = tell, .arg = &event};
	loop_timer_set(loop, &end, loop_now_ns() + 10 * NS_PER_MS);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(watches[0].runs + watches[1].runs, 1);
	for (int i = 0; i < 2; i++) {
		close(fds[i][0]);
		close(fds[i][1]);
	}
}

static void a_descriptor_that_cannot_be_watched_is_an_error(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	struct loop_watch watch = {.fd = -1};

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_watch(loop, &watch), -EBADF);
	loop_free(NULL);
}

static void a_hang_up_is_seen_behind_what_was_sent(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	int fds[2];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	struct story story = {.loop = loop, .end = 1};
	struct event gone = {&story, 'g'}, end = {&story, 'e'};
	struct loop_watch watch = {.fd = fds[0], .ready = tell, .arg = &gone};
	struct loop_timer timer = {.expired = tell, .arg = &end};
	assert_int_equal(loop_watch_hangup(loop, &watch), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	loop_timer_set(loop, &timer, loop_now_ns() + 10 * NS_PER_MS);
	assert_int_equal(loop_run(loop), 0);
	story.end = 2;
	close(fds[1]);
	assert_int_equal(loop_run(loop), 0);
	assert_string_equal(story.text, "eg");
	loop_unwatch(loop, &watch);
	close(fds[0]);
}

static void room_in_a_pipe_is_seen_when_it_is_there_and_a_file_always_has_some(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	static char page[4096];
	int fds[2];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	while (write(fds[1], page, sizeof(page)) > 0)
		;
	struct story story = {.loop = loop, .end = 1};
	struct event room = {&story, 'r'}, end = {&story, 'e'};
	struct loop_watch watch = {.fd = fds[1], .ready = tell, .arg = &room};
	struct loop_timer timer = {.expired = tell, .arg = &end};
	assert_int_equal(loop_watch_room(loop, &watch), 0);
	loop_timer_set(loop, &timer, loop_now_ns() + 10 * NS_PER_MS);
	assert_int_equal(loop_run(loop), 0);
	story.end = 2;
	assert_int_equal(read(fds[0], page, sizeof(page)), sizeof(page));
	assert_int_equal(loop_run(loop), 0);
	assert_string_equal(story.text, "er");
	loop_unwatch(loop, &watch);
	close(fds[0]);
	close(fds[1]);
	watch.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(loop_watch_room(loop, &watch), -EPERM);
	close(watch.fd);
}

/* ---- stalls ---- */

/* A callback that takes some time, and may have a call run meanwhile. */
struct slow {
	struct loop *loop;
	unsigned ms;
	bool stops;
	struct loop_call *call; /* NULL: none */
};

static void take_long(void *arg)
{
	struct slow *slow = arg;

	usleep(slow->ms * 1000);
	if (slow->call) {
		loop_post(slow->loop, slow->call);
		loop_flush(slow->loop);
	}
	if (slow->stops)
		loop_stop(slow->loop);
}

/* Returns the place of a cause, or -1. */
static int cause_at(const struct loop_stalls *stalls, const char *cause)
{
	for (int i = 0; i < LOOP_CAUSES_MAX && stalls->causes[i]; i++) {
		if (strcmp(stalls->causes[i], cause) == 0)
			return i;
	}
	return -1;
}

/* A callback of `ms` and more counts under that name, once as the longest. */
static void assert_longest(const struct loop *loop, const char *cause, unsigned ms, unsigned stalls)
{
	const struct loop_stalls *all = loop_stalls(loop);
	int at = cause_at(all, cause);

	assert_true(at >= 0);
	assert_true(all->longest_us[at] >= ms * 1000);
	assert_int_equal(all->stalls[at], stalls);
}

static void a_slow_callback_counts_under_its_name(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	int fds[2];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	struct slow slows[] = {{.loop = loop, .ms = 101},
			       {.loop = loop, .ms = 102},
			       {.loop = loop, .ms = 103, .stops = true}};
	struct loop_watch watch = {fds[0], take_long, &slows[0], "pipe"};
	struct loop_call call = {.run = take_long, .arg = &slows[1], .name = "call"};
	struct loop_timer end = {.expired = take_long, .arg = &slows[2], .name = "timer"};
	assert_int_equal(loop_watch(loop, &watch), 0);
	loop_post(loop, &call);
	loop_timer_set(loop, &end, 1);
	assert_int_equal(loop_run(loop), 0);
	assert_longest(loop, "pipe", 101, 1);
	assert_longest(loop, "call", 102, 1);
	assert_longest(loop, "timer", 103, 1);
	assert_longest(loop, "loop", 0, 0); /* its watch has run the posted call */
	assert_longest(loop, "other", 0, 0);
	assert_true(loop_stalls(loop)->longest_turn_us >= 306000);
	close(fds[0]);
	close(fds[1]);
}

static void the_longest_stays_and_time_without_a_callback_does_not_count(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	struct slow slows[] = {{.ms = 30}, {.ms = 2}, {.ms = 1, .stops = true}};
	static const char *const names[] = {"job", "job", NULL};
	struct loop_timer timers[3];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	uint64_t now = loop_now_ns();
	for (int i = 0; i < 3; i++) {
		slows[i].loop = loop;
		timers[i] = (struct loop_timer){take_long, &slows[i], .name = names[i]};
		loop_timer_set(loop, &timers[i], now + (uint64_t)i * 150 * NS_PER_MS);
	}
	assert_int_equal(loop_run(loop), 0);
	assert_longest(loop, "job", 30, 0);  /* though it waited for 150 ms between them */
	assert_longest(loop, "other", 1, 0); /* it has no name */
}

static void names_are_bounded_and_compared_as_text(void **state)
{
	static char names[LOOP_CAUSES_MAX + 3][8];
	struct loop_stalls stalls;

	(void)state;
	loop_stalls_init(&stalls);
	for (int i = 0; i < LOOP_CAUSES_MAX + 3; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		loop_stalls_add(&stalls, names[i], 1000);
	}
	assert_string_equal(stalls.causes[0], "other");
	assert_string_equal(stalls.causes[LOOP_CAUSES_MAX - 1], "n30");
	char again[] = "n3"; /* another pointer */
	loop_stalls_add(&stalls, again, LOOP_STALL_NS + 1000);
	assert_int_equal(stalls.stalls[4], 1);
	assert_int_equal(stalls.longest_us[4], LOOP_STALL_NS / 1000 + 1);
	assert_ptr_equal(stalls.causes[4], names[3]);
	loop_stalls_add(&stalls, names[LOOP_CAUSES_MAX + 2], LOOP_STALL_NS);
	assert_int_equal(stalls.stalls[0], 0); /* not longer than that */
	loop_stalls_add(&stalls, names[LOOP_CAUSES_MAX + 2], LOOP_STALL_NS + 1);
	loop_stalls_add(&stalls, NULL, LOOP_STALL_NS + 1);
	assert_int_equal(stalls.stalls[0], 2);
}

static void a_callback_that_flushes_counts_without_the_calls_that_it_has_run(void **state)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	struct slow inner = {.loop = loop, .ms = 120};
	struct loop_call call = {.run = take_long, .arg = &inner, .name = "inner"};
	struct slow outer = {.loop = loop, .ms = 20, .stops = true, .call = &call};
	struct loop_timer timer = {.expired = take_long, .arg = &outer, .name = "outer"};
	loop_timer_set(loop, &timer, 1);
	assert_int_equal(loop_run(loop), 0);
	assert_longest(loop, "outer", 20, 0);
	assert_longest(loop, "inner", 120, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_run_in_order_of_time_and_then_of_setting),
		cmocka_unit_test(a_timer_set_again_moves_and_one_cancelled_does_not_run),
		cmocka_unit_test(a_timer_may_cancel_another_that_is_due),
		cmocka_unit_test(posts_of_several_threads_arrive_all_and_in_order),
		cmocka_unit_test(a_watch_may_unwatch_itself_and_another_that_is_ready),
		cmocka_unit_test(a_hang_up_is_seen_behind_what_was_sent),
		cmocka_unit_test(a_descriptor_that_cannot_be_watched_is_an_error),
		cmocka_unit_test(
			room_in_a_pipe_is_seen_when_it_is_there_and_a_file_always_has_some),
		cmocka_unit_test(a_slow_callback_counts_under_its_name),
		cmocka_unit_test(the_longest_stays_and_time_without_a_callback_does_not_count),
		cmocka_unit_test(names_are_bounded_and_compared_as_text),
		cmocka_unit_test(a_callback_that_flushes_counts_without_the_calls_that_it_has_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
