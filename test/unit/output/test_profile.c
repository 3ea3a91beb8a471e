// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/output/tree_figures.h"

#include "profile/profile.h"
#include "window/window.h"

/* Adds `[pid]comm;…` of one process. */
static void add(struct profile *profile, const char *process, const char *name,
		enum frame_type type, uint64_t weight)
{
	struct tree *tree = profile->tree;
	int64_t node = tree_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, process, strlen(process));

	node = tree_child(tree, (uint32_t)node, type, name, strlen(name));
	assert_true(node > 0);
	tree_add(tree, (uint32_t)node, weight);
}

static struct profile *new_profile(time_t from)
{
	struct profile *profile;

	assert_int_equal(profile_new(&profile, PROBE_ONCPU, from, 10000000), 0);
	return profile;
}

static void processes_are_listed_with_pid_and_name(void **state)
{
	_cleanup_profile_ struct profile *profile = new_profile(100);
	_cleanup_free_ struct profile_process *processes = NULL;

	(void)state;
	add(profile, "[12]a]b", "x", FRAME_TYPE_NATIVE, 1);
	add(profile, "[4194304]", "x", FRAME_TYPE_NATIVE, 1);
	add(profile, "[12]exec'd", "[99]no process", FRAME_TYPE_NATIVE, 1);
	assert_int_equal(profile_processes(profile, &processes), 3);
	assert_int_equal(processes[0].pid, 12);
	assert_string_equal(processes[0].comm, "a]b");
	assert_int_equal(processes[1].pid, 12);
	assert_string_equal(processes[1].comm, "exec'd");
	assert_int_equal(processes[2].pid, 4194304);
	assert_string_equal(processes[2].comm, "");
}

static void an_empty_profile_has_no_process(void **state)
{
	_cleanup_profile_ struct profile *profile = new_profile(100), *selected = NULL;
	_cleanup_free_ struct profile_process *processes = NULL;

	(void)state;
	assert_int_equal(profile_processes(profile, &processes), 0);
	assert_int_equal(profile_select(&selected, profile, 1, true), 0);
	assert_int_equal(weight_of(selected->tree), 0);
}

static void selecting_takes_all_incarnations_of_a_pid_and_no_other(void **state)
{
	_cleanup_profile_ struct profile *profile = new_profile(100), *selected = NULL;

	(void)state;
	add(profile, "[12]sh", "x", FRAME_TYPE_NATIVE, 1);
	add(profile, "[12]ls", "x", FRAME_TYPE_NATIVE, 2);
	add(profile, "[121]ls", "x", FRAME_TYPE_NATIVE, 4);
	add(profile, "[1]ls", "x", FRAME_TYPE_NATIVE, 8);
	profile->until = 200;
	profile->lost = 5;
	assert_int_equal(profile_select(&selected, profile, 12, true), 0);
	assert_int_equal(weight_of(selected->tree), 3);
	assert_int_equal(selected->from, 100);
	assert_int_equal(selected->until, 200);
	assert_int_equal(selected->lost, 5);
	assert_int_equal(selected->period_ns, 10000000);
	assert_int_equal(weight_of(profile->tree), 15);
}

static void merging_covers_both_times_and_adds_losses(void **state)
{
	_cleanup_profile_ struct profile *profile = new_profile(100), *before = new_profile(50);

	(void)state;
	profile->until = 200;
	before->until = 100;
	profile->lost = 1;
	before->lost = 2;
	before->refused = 4;
	add(profile, "[1]a", "x", FRAME_TYPE_NATIVE, 1);
	add(before, "[1]a", "x", FRAME_TYPE_NATIVE, 2);
	assert_int_equal(profile_merge(profile, before), 0);
	assert_int_equal(profile->from, 50);
	assert_int_equal(profile->until, 200);
	assert_int_equal(profile->lost, 3);
	assert_int_equal(profile->refused, 4);
	assert_int_equal(weight_of(profile->tree), 3);
	assert_int_equal(node_count(profile->tree), 3);
}

/* A probe with a second value has a profile of it beside the first one, in all that is done. */
static void a_second_value_is_a_profile_beside_the_first_one(void **state)
{
	_cleanup_profile_ struct profile *profile = NULL, *more = NULL, *plain = new_profile(100);
	struct profile_meta meta;

	(void)state;
	assert_null(plain->second);
	assert_int_equal(profile_new(&profile, PROBE_IO, 100, 0), 0);
	assert_int_equal(profile_new(&more, PROBE_IO, 50, 0), 0);
	add(more, "[1]a", "x", FRAME_TYPE_NATIVE, 3);
	add(more->second, "[1]a", "x", FRAME_TYPE_NATIVE, 40);
	add(profile->second, "[1]a", "x", FRAME_TYPE_NATIVE, 2);
	profile_add_lost(more, 5, 6);
	assert_int_equal(profile_merge(profile, more), 0);
	assert_int_equal(weight_of(profile->tree), 3);
	assert_int_equal(weight_of(profile->second->tree), 42);
	assert_int_equal(profile->second->from, 50);
	assert_int_equal(profile->lost, 5);
	assert_int_equal(profile->second->lost, 5);
	assert_int_equal(profile->second->left_out, 6);
	profile_set_until(profile, 300);
	assert_int_equal(profile->second->until, 300);
	profile_describe(profile, TREE_ROOT, "host", &meta);
	assert_string_equal(meta.count_name, "bytes");
	profile_describe(profile->second, TREE_ROOT, "host", &meta);
	assert_string_equal(meta.count_name, "us");
	assert_string_equal(meta.title, "Time in I/O Calls");
}

static void the_description_counts_processes_losses_and_truncated_weight(void **state)
{
	_cleanup_profile_ struct profile *profile = new_profile(100);
	_cleanup_free_ struct profile_process *processes = NULL;
	struct profile_meta meta;

	(void)state;
	add(profile, "[1]a", FRAME_TRUNCATED, FRAME_TYPE_MARKER, 3);
	add(profile, "[2]b", FRAME_TRUNCATED, FRAME_TYPE_MARKER, 4);
	add(profile, "[2]b", FRAME_TRUNCATED, FRAME_TYPE_NATIVE, 8); /* a function of that name */
	add(profile, "[2]b", "[unknown]", FRAME_TYPE_MARKER, 16);
	profile->lost = 5;
	profile->refused = 6;
	profile_describe(profile, TREE_ROOT, "host", &meta);
	assert_string_equal(meta.count_name, "samples");
	assert_string_equal(meta.host, "host");
	assert_int_equal(meta.processes, 2);
	assert_int_equal(meta.lost, 11);
	assert_int_equal(meta.truncated, 7);
	assert_int_equal(meta.from_ns, 100);
	assert_int_equal(profile_processes(profile, &processes), 2);
	profile_describe(profile, processes[1].node, "host", &meta);
	assert_int_equal(meta.processes, 1);
	assert_int_equal(meta.truncated, 4);
}

static void a_profile_of_waits_has_time_and_their_number(void **state)
{
	_cleanup_profile_ struct profile *profile = NULL;
	struct profile_meta meta;

	(void)state;
	assert_int_equal(profile_new(&profile, PROBE_OFFCPU, 100, 0), 0);
	add(profile, "[1]a", "x", FRAME_TYPE_NATIVE, 3000);
	tree_add_events(profile->tree, 2, 7);
	profile->events = 7;
	profile_describe(profile, TREE_ROOT, "host", &meta);
	assert_string_equal(meta.title, "Off-CPU Time Flame Graph");
	assert_string_equal(meta.count_name, "us");
	assert_string_equal(meta.event_name, "waits");
	assert_int_equal(meta.events, 7);
	assert_int_equal(meta.period_ns, 0);
	profile_show_events(profile);
	assert_int_equal(weight_of(profile->tree), 7);
	profile_describe(profile, TREE_ROOT, "host", &meta);
	assert_string_equal(meta.title, "Off-CPU Waits Flame Graph");
	assert_string_equal(meta.count_name, "waits");
	assert_null(meta.event_name);
}

static void a_view_has_titles_of_its_own_and_a_copy_has_them_too(void **state)
{
	_cleanup_profile_ struct profile *profile = NULL, *selected = NULL;
	struct profile_meta meta;

	(void)state;
	assert_int_equal(profile_new(&profile, PROBE_MEM_GLIBC, 100, 0), 0);
	profile_describe(profile, TREE_ROOT, "host", &meta);
	assert_string_equal(meta.title, "Memory Allocation");
	profile->view = VIEW_INUSE;
	add(profile, "[1]a", "x", FRAME_TYPE_NATIVE, 3000);
	assert_int_equal(profile_select(&selected, profile, 1, true), 0);
	profile_describe(selected, TREE_ROOT, "host", &meta);
	assert_string_equal(meta.title, "Memory In Use");
	assert_string_equal(meta.count_name, "bytes");
	assert_string_equal(meta.event_name, "objects");
	profile->view = VIEW_MMAP;
	profile_show_events(profile);
	profile_describe(profile, TREE_ROOT, "host", &meta);
	assert_string_equal(meta.title, "Mappings");
	assert_string_equal(meta.count_name, "mappings");
}

/* ---- window ---- */

static struct stack stack_of(uint64_t window, uint64_t hash, uint16_t words)
{
	return (struct stack){.key = {.hash = hash, .tgid = 7},
			      .window = window,
			      .words_count = words,
			      .time_ns = hash * 3};
}

struct seen {
	unsigned count;
	uint64_t sum;
};

static void note(void *arg, const struct stack *stack, const uint64_t *words)
{
	struct seen *seen = arg;

	seen->count++;
	for (unsigned i = 0; i < stack->words_count; i++)
		seen->sum += words[i];
}

static void stacks_are_found_in_their_window_once(void **state)
{
	uint64_t words[WORDS_MAX];
	struct window *window;
	struct seen seen = {0};
	size_t at = 0;

	(void)state;
	for (uint64_t i = 0; i < WORDS_MAX; i++)
		words[i] = i;
	assert_int_equal(window_new(&window, 10000, 8 << 20), 0);
	for (uint64_t hash = 0; hash < 1000; hash++) {
		struct stack stack = stack_of(hash % 2 ? 5 : 4, hash, (uint16_t)(hash % 500));

		assert_int_equal(window_add(window, &stack, words), 0);
		assert_int_equal(window_add(window, &stack, words), 0); /* from another CPU */
	}
	assert_int_equal(window_count(window, 4), 500);
	assert_int_equal(window_count(window, 5), 500);
	for (uint64_t hash = 0; hash < 1000; hash++) {
		struct stack wanted = stack_of(0, hash, 0);
		const struct stack *found = window_find(window, hash % 2 ? 5 : 4, &wanted.key);

		assert_non_null(found);
		assert_int_equal(found->time_ns, hash * 3);
		assert_null(window_find(window, hash % 2 ? 4 : 5, &wanted.key));
	}
	assert_false(window_some(window, 4, &at, SIZE_MAX, note, &seen));
	assert_int_equal(seen.count, 500);
	window_clear(window, 4);
	assert_int_equal(window_count(window, 4), 0);
	assert_int_equal(window_count(window, 5), 500);
	window_free(window);
	window_free(NULL);
}

static void a_window_is_looked_at_in_parts_that_go_on_behind_each_other(void **state)
{
	uint64_t words[4] = {1, 2, 3, 4};
	struct window *window;
	struct seen seen = {0};
	size_t at = 0;

	(void)state;
	assert_int_equal(window_new(&window, 100, 1 << 20), 0);
	assert_false(window_some(window, 1, &at, 1, note, &seen));
	for (uint64_t hash = 0; hash < 10; hash++) {
		struct stack stack = stack_of(1, hash, 4);

		assert_int_equal(window_add(window, &stack, words), 0);
	}
	/* A stack is twelve words: a part ends behind the stack in which it is full. */
	assert_true(window_some(window, 1, &at, 1, note, &seen));
	assert_int_equal(seen.count, 1);
	assert_true(window_some(window, 1, &at, 12, note, &seen));
	assert_int_equal(seen.count, 2);
	assert_true(window_some(window, 1, &at, 13, note, &seen));
	assert_int_equal(seen.count, 4);
	struct stack late = stack_of(1, 10, 4);
	assert_int_equal(window_add(window, &late, words), 0);
	assert_false(window_some(window, 1, &at, 1000, note, &seen));
	assert_int_equal(seen.count, 11);
	assert_int_equal(seen.sum, 110);
	assert_false(window_some(window, 1, &at, 1000, note, &seen));
	at = 12 * sizeof(uint64_t);
	window_clear(window, 1); /* in the middle */
	assert_false(window_some(window, 1, &at, 1000, note, &seen));
	assert_int_equal(seen.count, 11);
	window_free(window);
}

static void a_full_window_refuses_and_stays_whole(void **state)
{
	struct window *window;
	uint64_t words[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	struct seen seen = {0};
	size_t at = 0;

	(void)state;
	/* Room for ten stacks of two words in bytes, twenty in number. */
	assert_int_equal(window_new(&window, 20, 10 * (sizeof(struct stack) + 16)), 0);
	for (uint64_t hash = 0; hash < 15; hash++) {
		struct stack stack = stack_of(0, hash, 2);

		assert_int_equal(window_add(window, &stack, words), hash < 10 ? 0 : -ENOSPC);
	}
	assert_int_equal(window_count(window, 0), 10);
	assert_int_equal(window_bytes(window, 0), 10 * (sizeof(struct stack) + 16));
	assert_int_equal(window_bytes(window, 1), 0);
	assert_false(window_some(window, 0, &at, SIZE_MAX, note, &seen));
	assert_int_equal(seen.count, 10);
	assert_int_equal(seen.sum, 20);
	window_clear(window, 0);
	for (uint64_t hash = 100; hash < 109; hash++) {
		struct stack stack = stack_of(0, hash, 2);

		assert_int_equal(window_add(window, &stack, words), 0);
	}
	struct stack big = stack_of(0, 200, 10), small = stack_of(0, 201, 2);
	assert_int_equal(window_add(window, &big, words), -ENOSPC);
	assert_null(window_find(window, 0, &big.key));
	assert_int_equal(window_add(window, &small, words), 0);
	window_free(window);
}

static void the_number_of_stacks_is_bounded_too(void **state)
{
	struct window *window;

	(void)state;
	assert_int_equal(window_new(&window, 3, 1 << 20), 0);
	for (uint64_t hash = 0; hash < 5; hash++) {
		struct stack stack = stack_of(9, hash, 0);

		assert_int_equal(window_add(window, &stack, NULL), hash < 3 ? 0 : -ENOSPC);
	}
	assert_int_equal(window_count(window, 9), 3);
	window_free(window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_listed_with_pid_and_name),
		cmocka_unit_test(an_empty_profile_has_no_process),
		cmocka_unit_test(selecting_takes_all_incarnations_of_a_pid_and_no_other),
		cmocka_unit_test(merging_covers_both_times_and_adds_losses),
		cmocka_unit_test(a_second_value_is_a_profile_beside_the_first_one),
		cmocka_unit_test(the_description_counts_processes_losses_and_truncated_weight),
		cmocka_unit_test(a_profile_of_waits_has_time_and_their_number),
		cmocka_unit_test(a_view_has_titles_of_its_own_and_a_copy_has_them_too),
		cmocka_unit_test(stacks_are_found_in_their_window_once),
		cmocka_unit_test(a_window_is_looked_at_in_parts_that_go_on_behind_each_other),
		cmocka_unit_test(a_full_window_refuses_and_stays_whole),
		cmocka_unit_test(the_number_of_stacks_is_bounded_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
