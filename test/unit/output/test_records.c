// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/output/tree_figures.h"
#include "unit/output/tree_text.h"

#include "profile/profile.h"
#include "stack/records.h"

static struct record_who who_of(int pid, const char *process, const char *thread)
{
	struct record_who who = {.pid = pid, .start_ticks = 5};

	snprintf(who.process, sizeof(who.process), "%s", process);
	snprintf(who.thread, sizeof(who.thread), "%s", thread);
	return who;
}

static int add(struct records *records, const struct record_who *who, uint32_t node, uint32_t tid,
	       uint32_t cpu, uint64_t weight, uint64_t first_ns)
{
	struct record record = {
		{.node = node, .tid = tid, .cpu = (uint16_t)cpu}, weight, first_ns, who, {0}};

	return records_add(records, &record);
}

static struct records *new_records(size_t max)
{
	struct records *records;

	assert_int_equal(records_new(&records, max), 0);
	return records;
}

static void equal_keys_add_up_and_the_first_time_stays(void **state)
{
	_cleanup_records_ struct records *records = new_records(100);
	_cleanup_free_ struct record *list = NULL;
	struct record_who app = who_of(7, "app", "worker");

	(void)state;
	assert_int_equal(add(records, &app, 3, 8, 4095, 10, 200), 0);
	assert_int_equal(add(records, &app, 3, 8, 4095, 5, 100), 0);
	assert_int_equal(add(records, &app, 3, 8, 4095, 1, 300), 0);
	assert_int_equal(records_list(records, &list), 1);
	assert_int_equal(list[0].weight, 16);
	assert_int_equal(list[0].first_ns, 100);
	assert_int_equal(list[0].who->pid, 7);
	assert_string_equal(list[0].who->thread, "worker");
}

static void thread_cpu_node_process_start_and_names_tell_records_apart(void **state)
{
	_cleanup_records_ struct records *records = new_records(100);
	_cleanup_free_ struct record *list = NULL;
	struct record_who app = who_of(7, "app", "a"), other = who_of(8, "app", "a");
	struct record_who renamed = who_of(7, "app", "b"), execed = who_of(7, "new", "a");
	struct record_who again = app;

	(void)state;
	again.start_ticks++;
	add(records, &app, 3, 8, 0, 1, 1);
	add(records, &app, 3, 9, 0, 1, 1);
	add(records, &app, 3, 8, 1, 1, 1);
	add(records, &app, 4, 8, 0, 1, 1);
	add(records, &other, 3, 8, 0, 1, 1);
	add(records, &renamed, 3, 8, 0, 1, 1);
	add(records, &execed, 3, 8, 0, 1, 1);
	add(records, &again, 3, 8, 0, 1, 1);
	assert_int_equal(records_list(records, &list), 8);
	for (int i = 1; i < 8; i++)
		assert_true(memcmp(&list[i - 1].key, &list[i].key, sizeof(list[i].key)) != 0);
}

static void what_lies_behind_a_names_end_does_not_tell_apart(void **state)
{
	_cleanup_records_ struct records *records = new_records(100);
	_cleanup_free_ struct record *list = NULL;
	struct record_who app = who_of(7, "app", "a"), same = app;

	(void)state;
	same.thread[5] = 'x';
	same.netns_id = 12;
	add(records, &app, 3, 8, 0, 1, 1);
	add(records, &same, 3, 8, 0, 1, 1);
	app.netns_id = 0;
	add(records, &app, 3, 8, 0, 1, 1);
	assert_int_equal(records_list(records, &list), 1);
	assert_int_equal(list[0].weight, 3);
	assert_int_equal(list[0].who->netns_id, 12);
}

static void library_frames_tell_records_apart_and_survive_a_merge(void **state)
{
	_cleanup_records_ struct records *records = new_records(100), *into = new_records(100);
	_cleanup_free_ struct record *list = NULL;
	struct record_who app = who_of(7, "app", "a");
	uint8_t bits[2] = {0, 2}, other[1] = {9};
	struct record record = {{.node = 1, .tid = 8}, 1, 1, &app, {bits, 2}};
	uint32_t numbers[2] = {0, 1};

	(void)state;
	assert_int_equal(add(into, &app, 1, 8, 0, 8, 1), 0);
	record.libraries = (struct record_libraries){other, 1};
	assert_int_equal(records_add(into, &record), 0);
	record.libraries = (struct record_libraries){bits, 2};
	assert_int_equal(records_add(records, &record), 0);
	assert_int_equal(records_merge(into, records, numbers), 0);
	assert_int_equal(records_list(into, &list), 3);
	assert_int_equal(list[0].weight, 8);
	assert_int_equal(list[0].libraries.bytes, 0);
	assert_int_equal(list[1].libraries.bytes, 1);
	assert_int_equal(list[2].libraries.bytes, 2);
	assert_memory_equal(list[2].libraries.bits, bits, 2);
}

static void collected_bits_are_those_of_their_frames_and_the_rest_is_0(void **state)
{
	struct frame_bits bits = {0};

	(void)state;
	for (size_t frame = 0; frame < STACK_FRAMES_MAX; frame++)
		frame_bits_add(&bits, frame == 0 || frame == 9);
	struct record_libraries libraries = {bits.bits, bits.bytes};
	assert_int_equal(libraries.bytes, 2);
	for (size_t frame = 0; frame < STACK_FRAMES_MAX; frame++)
		assert_int_equal(record_libraries_have(&libraries, frame),
				 frame == 0 || frame == 9);
	memset(bits.bits, 0xff, sizeof(bits.bits));
	assert_false(record_libraries_have(&libraries, 16));
}

static void the_bound_is_kept_and_known_ones_still_count(void **state)
{
	_cleanup_records_ struct records *records = new_records(2);
	struct record_who app = who_of(7, "app", "a");

	(void)state;
	assert_int_equal(add(records, &app, 1, 8, 0, 1, 1), 0);
	assert_int_equal(add(records, &app, 2, 8, 0, 1, 1), 0);
	assert_int_equal(add(records, &app, 3, 8, 0, 1, 1), -ENOSPC);
	assert_int_equal(add(records, &app, 1, 8, 0, 1, 1), 0);
}

static void two_full_ones_can_be_merged_and_a_third_can_not(void **state)
{
	_cleanup_records_ struct records *records = new_records(2), *into = new_records(2);
	_cleanup_free_ struct record *list = NULL;
	struct record_who app = who_of(7, "app", "a");
	uint32_t same[4] = {0, 1, 2, 3}, others[4] = {0, 11, 12, 13}, third[4] = {0, 0, 22, 23};

	(void)state;
	add(records, &app, 1, 8, 0, 1, 1);
	add(records, &app, 2, 8, 0, 1, 1);
	assert_int_equal(records_merge(into, records, same), 0);
	assert_int_equal(records_merge(into, records, others), 0);
	assert_int_equal(records_merge(into, records, others), 0);
	assert_int_equal(records_merge(into, records, third), -ENOSPC);
	assert_int_equal(add(into, &app, 3, 8, 0, 1, 1), -ENOSPC);
	assert_int_equal(records_list(into, &list), 4);
	assert_int_equal(list[0].weight + list[1].weight + list[2].weight + list[3].weight, 6);
}

/* A profile with a process of two threads, and another one. */
static struct profile *new_profile(void)
{
	struct record_who app = who_of(12, "app", "a"), other = who_of(13, "other", "o");
	struct profile *profile;
	uint32_t node;

	assert_int_equal(profile_new(&profile, PROBE_ONCPU, 100, 10000000), 0);
	node = add_child(profile->tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[13]other");
	tree_add(profile->tree, node, 4);
	add(profile->records, &other, node, 13, 4095, 4, 1);
	node = add_child(profile->tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[12]app");
	node = add_child(profile->tree, node, FRAME_TYPE_NATIVE, "f");
	tree_add(profile->tree, node, 3);
	add(profile->records, &app, node, 12, 4095, 1, 1);
	add(profile->records, &app, node, 14, 4095, 2, 1);
	return profile;
}

static void selecting_a_process_takes_its_records_and_no_others(void **state)
{
	_cleanup_profile_ struct profile *profile = new_profile(), *selected = NULL;
	_cleanup_free_ struct record *list = NULL;

	(void)state;
	assert_int_equal(profile_select(&selected, profile, 12, true), 0);
	assert_int_equal(records_list(selected->records, &list), 2);
	assert_int_equal(list[0].weight + list[1].weight, 3);
	assert_string_equal(tree_frame_of(selected->tree, list[0].key.node).name, "f");
}

static void merging_profiles_adds_records_of_equal_stacks(void **state)
{
	_cleanup_profile_ struct profile *profile = new_profile(), *into = NULL;
	_cleanup_free_ struct record *list = NULL;
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(profile_new(&into, PROBE_ONCPU, 100, 10000000), 0);
	add_child(into->tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[1]makes other numbers");
	assert_int_equal(profile_merge(into, profile), 0);
	assert_int_equal(profile_merge(into, profile), 0);
	assert_int_equal(records_list(into->records, &list), 3);
	for (int i = 0; i < 3; i++)
		sum += list[i].weight;
	assert_int_equal(sum, weight_of(into->tree));
	assert_int_equal(sum, 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_keys_add_up_and_the_first_time_stays),
		cmocka_unit_test(thread_cpu_node_process_start_and_names_tell_records_apart),
		cmocka_unit_test(what_lies_behind_a_names_end_does_not_tell_apart),
		cmocka_unit_test(library_frames_tell_records_apart_and_survive_a_merge),
		cmocka_unit_test(collected_bits_are_those_of_their_frames_and_the_rest_is_0),
		cmocka_unit_test(the_bound_is_kept_and_known_ones_still_count),
		cmocka_unit_test(two_full_ones_can_be_merged_and_a_third_can_not),
		cmocka_unit_test(selecting_a_process_takes_its_records_and_no_others),
		cmocka_unit_test(merging_profiles_adds_records_of_equal_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
