// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "container/container.h"
#include "hooks/times.h"

#define NS_PER_S 1000000000ULL
#define START	 1000
#define PID	 77

static const struct times_counted counted = {.session = 1, .offcpu_states = 1u << WAIT_SLEEP};

static struct thread_times thread_of(uint32_t tid, uint64_t run_ns)
{
	return (struct thread_times){
		.start_ns = START,
		.tgid = PID,
		.tid = tid,
		.comm = "busy",
		.own = {.run_ns = run_ns, .switches = {run_ns * 2, run_ns * 3}},
		.probes = 1u << PROBE_OFFCPU,
	};
}

static const struct gone_key key = {.signal = 5, .tgid = PID};

static struct gone end_of(uint64_t run_ns, uint64_t reaped_ns)
{
	return (struct gone){
		.start_ns = START,
		.id = 1,
		.reaped_ns = reaped_ns,
		.session = 1,
		.times = {.run_ns = run_ns, .waited_ns = {[WAIT_SLEEP] = 8}},
		.probes = 1u << PROBE_OFFCPU,
		.comm = "busy",
	};
}

struct seen {
	size_t count;
	struct process_times last;
};

static void see(void *arg, const struct process_times *process)
{
	struct seen *seen = arg;

	seen->count++;
	seen->last = *process;
}

static struct seen look(const struct times_table *table)
{
	struct seen seen = {0};

	times_each(table, see, &seen);
	return seen;
}

/* A reading of PID's one thread. */
static void read_one(struct times_table *table, uint64_t now_ns, const struct thread_times *thread)
{
	times_begin(table, now_ns, &counted);
	times_add(table, thread);
	times_end(table);
}

static int make(void **state)
{
	return times_new((struct times_table **)state, 2);
}

static int drop(void **state)
{
	times_free(*state);
	return 0;
}

static void a_process_is_the_sum_of_its_threads(void **state)
{
	struct thread_times one = thread_of(PID, 5), two = thread_of(78, 7);

	one.ended.run_ns = two.ended.run_ns = 100;
	times_begin(*state, NS_PER_S, &counted);
	times_add(*state, &one);
	times_add(*state, &two);
	times_end(*state);
	struct seen seen = look(*state);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.last.pid, PID);
	assert_string_equal(seen.last.comm, "busy");
	assert_int_equal(seen.last.times.run_ns, 112);
	assert_int_equal(seen.last.times.switches[SWITCH_VOLUNTARY], 24);
	assert_int_equal(seen.last.times.switches[SWITCH_INVOLUNTARY], 36);
	assert_int_equal(seen.last.states, 1u << WAIT_SLEEP);
	assert_false(seen.last.has_wakeups);
}

static void a_thread_that_ends_while_others_are_read_is_not_counted_twice(void **state)
{
	struct thread_times one = thread_of(PID, 5), two = thread_of(78, 7);

	two.ended.run_ns = 5; /* thread one has ended since it was read */
	times_begin(*state, NS_PER_S, &counted);
	times_add(*state, &one);
	times_add(*state, &two);
	times_end(*state);
	assert_int_equal(look(*state).last.times.run_ns, 12);
}

static void no_sum_goes_back(void **state)
{
	struct thread_times before = thread_of(PID, 50), after = thread_of(PID, 20);

	read_one(*state, NS_PER_S, &before);
	read_one(*state, 2 * NS_PER_S, &after);
	assert_int_equal(look(*state).last.times.run_ns, 50);
}

static void another_process_with_the_same_pid_begins_anew(void **state)
{
	struct thread_times before = thread_of(PID, 50), after = thread_of(PID, 20);

	after.start_ns = START + 1;
	read_one(*state, NS_PER_S, &before);
	read_one(*state, 2 * NS_PER_S, &after);
	assert_int_equal(look(*state).count, 1);
	assert_int_equal(look(*state).last.times.run_ns, 20);
}

static void the_end_of_a_process_whose_pid_is_anothers_is_not_shown(void **state)
{
	struct thread_times other = thread_of(PID, 20);
	struct gone gone = end_of(90, 2 * NS_PER_S);

	other.start_ns = START + 1;
	times_begin(*state, 4 * NS_PER_S, &counted);
	times_add(*state, &other);
	assert_true(times_add_gone(*state, &key, &gone));
	times_end(*state);
	assert_int_equal(look(*state).last.times.run_ns, 20);
	assert_int_equal(look(*state).last.ended_ns, 0);
}

/* Also when the process has ended, until its last values go. */
static void a_process_keeps_its_container_as_long_as_its_sums_are_there(void **state)
{
	struct thread_times before = thread_of(PID, 50), after = thread_of(PID, 20);
	struct container_place place = {.id = "0123456789abcdef"};
	_cleanup_container_ struct container *id = NULL, *web = NULL;

	assert_int_equal(container_new(&id, &place, "", "", "", ""), 0);
	assert_int_equal(container_new(&web, &place, "web", "", "", ""), 0);
	read_one(*state, NS_PER_S, &before);
	times_see_container(*state, PID, START + 1, web); /* another one's */
	assert_null(look(*state).last.container);
	times_see_container(*state, PID, START, id);
	times_see_container(*state, PID, START, web);
	times_see_container(*state, PID, START, id);
	times_see_container(*state, PID, START, NULL);
	assert_ptr_equal(look(*state).last.container, web);
	assert_int_equal(web->refs, 2);
	after.start_ns = START + 1;
	read_one(*state, 2 * NS_PER_S, &after);
	assert_null(look(*state).last.container);
	assert_int_equal(web->refs, 1);
	times_see_container(*state, PID, START + 1, web);
	times_begin(*state, 3 * NS_PER_S, &counted);
	times_end(*state);
	assert_int_equal(web->refs, 1);
	assert_int_equal(id->refs, 1);
}

static void who_is_not_wanted_any_more_goes(void **state)
{
	struct thread_times thread = thread_of(PID, 5);

	read_one(*state, NS_PER_S, &thread);
	times_begin(*state, 2 * NS_PER_S, &counted);
	times_end(*state);
	assert_int_equal(look(*state).count, 0);
}

static void a_zombie_is_counted_as_what_is_there(void **state)
{
	struct thread_times thread = thread_of(PID, 60);
	struct gone gone = end_of(55, 0);

	times_begin(*state, NS_PER_S, &counted);
	times_add(*state, &thread);
	assert_false(times_add_gone(*state, &key, &gone));
	times_end(*state);
	assert_int_equal(look(*state).last.times.run_ns, 60);
	assert_int_equal(look(*state).last.ended_ns, 0);
}

static void last_values_are_kept_for_five_minutes(void **state)
{
	struct thread_times thread = thread_of(PID, 60);
	struct gone gone = end_of(61, 2 * NS_PER_S);

	read_one(*state, NS_PER_S, &thread);
	times_begin(*state, 2 * NS_PER_S + 5, &counted);
	assert_false(times_add_gone(*state, &key, &gone)); /* the last switch may be missing */
	times_end(*state);
	times_begin(*state, 4 * NS_PER_S, &counted);
	assert_true(times_add_gone(*state, &key, &gone));
	times_end(*state);
	times_begin(*state, 2 * NS_PER_S + TIMES_KEPT_NS - 1, &counted);
	times_end(*state);
	struct seen seen = look(*state);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.last.times.run_ns, 61);
	assert_int_equal(seen.last.times.waited_ns[WAIT_SLEEP], 8);
	assert_int_equal(seen.last.ended_ns, 2 * NS_PER_S);
	times_begin(*state, 2 * NS_PER_S + TIMES_KEPT_NS, &counted);
	times_end(*state);
	assert_int_equal(look(*state).count, 0);
	assert_int_equal(times_stats(*state)->dropped, 0);
}

static void those_that_ended_first_make_room(void **state)
{
	times_begin(*state, 10 * NS_PER_S, &counted);
	for (uint32_t i = 0; i < TIMES_ENDED_MAX + 3; i++) {
		struct gone gone = end_of(i, NS_PER_S + i);

		times_add_gone(*state, &(struct gone_key){.tgid = i + 1}, &gone);
	}
	times_end(*state);
	assert_int_equal(look(*state).count, TIMES_ENDED_MAX);
	assert_int_equal(times_stats(*state)->dropped, 3);
	assert_int_equal(times_stats(*state)->refused, 0);
}

static void who_finds_no_room_is_counted(void **state)
{
	uint32_t room = 2 + TIMES_ENDED_MAX + GONE_MAX;

	times_begin(*state, NS_PER_S, &counted);
	for (uint32_t i = 0; i < room + 5; i++) {
		struct thread_times thread = thread_of(1, 1);

		thread.tgid = i + 1;
		times_add(*state, &thread);
	}
	times_end(*state);
	assert_int_equal(look(*state).count, room);
	assert_int_equal(times_stats(*state)->refused, 5);
}

static void waits_begin_at_zero_with_a_new_session(void **state)
{
	struct times_counted later = counted;
	struct thread_times thread = thread_of(PID, 60);

	thread.own.waited_ns[WAIT_SLEEP] = 70;
	read_one(*state, NS_PER_S, &thread);
	later.session = 2;
	thread.own.waited_ns[WAIT_SLEEP] = 3;
	times_begin(*state, 2 * NS_PER_S, &later);
	times_add(*state, &thread);
	times_end(*state);
	assert_int_equal(look(*state).last.times.waited_ns[WAIT_SLEEP], 3);
	assert_int_equal(look(*state).last.times.run_ns, 60);
}

static void what_is_counted_depends_on_who_wants_it(void **state)
{
	const struct times_counted all = {.session = 1, .each = true, .wakeups = true};
	struct thread_times thread = thread_of(PID, 1);

	times_begin(*state, NS_PER_S, &all);
	times_add(*state, &thread);
	times_end(*state);
	assert_int_equal(look(*state).last.states, 0);
	thread.probes = WANTED_SCHED;
	times_begin(*state, 2 * NS_PER_S, &all);
	times_add(*state, &thread);
	times_end(*state);
	assert_int_equal(look(*state).last.states, (1u << WAIT_KINDS) - 1);
	assert_true(look(*state).last.has_wakeups);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_is_the_sum_of_its_threads),
		TEST(a_thread_that_ends_while_others_are_read_is_not_counted_twice),
		TEST(no_sum_goes_back),
		TEST(another_process_with_the_same_pid_begins_anew),
		TEST(the_end_of_a_process_whose_pid_is_anothers_is_not_shown),
		TEST(a_process_keeps_its_container_as_long_as_its_sums_are_there),
		TEST(who_is_not_wanted_any_more_goes),
		TEST(a_zombie_is_counted_as_what_is_there),
		TEST(last_values_are_kept_for_five_minutes),
		TEST(those_that_ended_first_make_room),
		TEST(who_finds_no_room_is_counted),
		TEST(waits_begin_at_zero_with_a_new_session),
		TEST(what_is_counted_depends_on_who_wants_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
