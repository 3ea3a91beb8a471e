// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/output/tree_text.h"

#include "kind/kind.h"
#include "output/text/stack_ids.h"
#include "proc/proc.h"

struct fixture {
	struct tree *tree;
	struct records *records;
};

static struct fixture new_fixture(void)
{
	struct fixture fixture = {.tree = new_tree()};

	assert_int_equal(records_new(&fixture.records, 1000), 0);
	return fixture;
}

static void fixture_done(struct fixture *fixture)
{
	tree_free(fixture->tree);
	records_free(fixture->records);
}
#define _cleanup_fixture_ _cleanup_(fixture_done)

/* With one library frame, the first, or none. */
static void add_with(struct fixture *fixture, const char *thread, uint32_t node, uint32_t tid,
		     uint64_t weight, bool library)
{
	struct record_who who = {.pid = 7, .start_ticks = 100, .netns_id = 4026531840};
	uint8_t first = 1;
	struct record record = {{.node = node, .tid = tid, .cpu = 4095},
				weight,
				123456789,
				&who,
				{&first, library}};

	snprintf(who.process, sizeof(who.process), "app");
	snprintf(who.thread, sizeof(who.thread), "%s", thread);
	assert_int_equal(records_add(fixture->records, &record), 0);
}

static void add(struct fixture *fixture, const char *thread, uint32_t node, uint32_t tid,
		uint64_t weight)
{
	add_with(fixture, thread, node, tid, weight, false);
}

static char *write_lines(const struct fixture *fixture, enum probe probe, uint32_t start)
{
	struct profile_meta meta = {
		.probe = probe, .deepflow = kind_get(probe)->deepflow, .records = fixture->records};

	return write_with("jsonl", fixture->tree, start, &meta);
}

/* The number behind `key` in line number `line`. */
static uint64_t number(const char *text, int line, const char *key)
{
	for (; line > 0; line--)
		text = strchr(text, '\n') + 1;
	const char *found = strstr(text, key);

	assert_non_null(found);
	return strtoull(found + strlen(key), NULL, 10);
}

/* `[7]app;worker;user;kernel`. */
static uint32_t add_stack(struct tree *tree, const char *user, const char *kernel)
{
	uint32_t node = add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[7]app");

	node = add_child(tree, node, FRAME_TYPE_THREAD, "worker");
	node = add_child(tree, node, FRAME_TYPE_NATIVE, user);
	return kernel ? add_child(tree, node, FRAME_TYPE_KERNEL, kernel) : node;
}

static void a_line_has_the_fifteen_fields(void **state)
{
	_cleanup_fixture_ struct fixture fixture = new_fixture();
	uint32_t node = add_stack(fixture.tree, "write", "vfs_write");
	char expected[512];

	(void)state;
	add_with(&fixture, "worker", node, 9, 42, true);
	_cleanup_free_ char *text = write_lines(&fixture, PROBE_ONCPU, TREE_ROOT);
	snprintf(expected, sizeof(expected),
		 "{\"profiler_type\":1,\"timestamp\":123456789,\"pid\":7,\"tid\":9,\"stime\":%llu,"
		 "\"netns_id\":4026531840,\"u_stack_id\":%lld,\"k_stack_id\":%lld,\"cpu\":4095,"
		 "\"count\":42,\"comm\":\"worker\",\"process_name\":\"app\","
		 "\"container_id\":\"null\",\"stack_data_len\":31,"
		 "\"stack_data\":\"[p] app;[l] write;[k] vfs_write\"}\n",
		 (unsigned long long)proc_epoch_ms_of_ticks(100),
		 (long long)stack_id(";[l] write", 10), (long long)stack_id(";[k] vfs_write", 14));
	assert_string_equal(text, expected);
}

static void the_profilers_number_is_the_probes(void **state)
{
	_cleanup_fixture_ struct fixture fixture = new_fixture();

	(void)state;
	add(&fixture, "worker", add_stack(fixture.tree, "main", "schedule"), 9, 1514);
	_cleanup_free_ char *text = write_lines(&fixture, PROBE_OFFCPU, TREE_ROOT);
	assert_int_equal(number(text, 0, "\"count\":"), 1514);
	assert_int_equal(number(text, 0, "\"profiler_type\":"), 2);
	_cleanup_free_ char *faults = write_lines(&fixture, PROBE_MEM, TREE_ROOT);
	assert_int_equal(number(faults, 0, "\"profiler_type\":"), 3);
	_cleanup_free_ char *calls = write_lines(&fixture, PROBE_MEM_GLIBC, TREE_ROOT);
	assert_int_equal(number(calls, 0, "\"profiler_type\":"), 3);
}

static void equal_halves_have_equal_ids_over_threads_and_calls(void **state)
{
	_cleanup_fixture_ struct fixture fixture = new_fixture();
	uint32_t read = add_stack(fixture.tree, "main", "read");
	uint32_t poll = add_stack(fixture.tree, "main", "poll");
	uint32_t none = add_stack(fixture.tree, "main", NULL);
	uint32_t library = add_stack(fixture.tree, "other", "read");

	(void)state;
	add(&fixture, "worker", read, 8, 1);
	add(&fixture, "worker", read, 9, 1);
	add(&fixture, "worker", poll, 8, 1);
	add(&fixture, "worker", none, 8, 1);
	add(&fixture, "worker", library, 8, 1);
	_cleanup_free_ char *text = write_lines(&fixture, PROBE_ONCPU, TREE_ROOT);
	_cleanup_free_ char *again = write_lines(&fixture, PROBE_ONCPU, TREE_ROOT);
	assert_string_equal(text, again);
	uint64_t user[5], kernel[5];
	for (int i = 0; i < 5; i++) {
		user[i] = number(text, i, "\"u_stack_id\":");
		kernel[i] = number(text, i, "\"k_stack_id\":");
	}
	/* By node: `none` was made first, as a part of `read`. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(user[i], user[0]);
	assert_int_not_equal(user[4], user[0]);
	assert_int_equal(kernel[0], STACK_ID_NONE);
	assert_int_equal(kernel[1], kernel[2]);
	assert_int_not_equal(kernel[3], kernel[1]);
	assert_int_equal(kernel[4], kernel[1]);
}

static void functions_of_one_name_in_program_and_library_are_told_apart(void **state)
{
	_cleanup_fixture_ struct fixture fixture = new_fixture();
	uint32_t node = add_stack(fixture.tree, "_start", NULL);

	(void)state;
	add_with(&fixture, "worker", node, 8, 1, true);
	add_with(&fixture, "worker", node, 8, 2, false);
	_cleanup_free_ char *text = write_lines(&fixture, PROBE_ONCPU, TREE_ROOT);
	assert_has(text, "\"count\":1,");
	assert_has(text, "\"[p] app;[l] _start\"");
	assert_has(text, "\"count\":2,");
	assert_has(text, "\"[p] app;_start\"");
	assert_int_not_equal(number(text, 0, "\"u_stack_id\":"),
			     number(text, 1, "\"u_stack_id\":"));
}

static void hostile_names_stay_one_frame_and_one_string(void **state)
{
	_cleanup_fixture_ struct fixture fixture = new_fixture();
	uint32_t node = add_stack(fixture.tree, "a;b\"\\\n\xff", NULL);

	(void)state;
	add(&fixture, "t\"\n\xff", node, 9, 1);
	_cleanup_free_ char *text = write_lines(&fixture, PROBE_ONCPU, TREE_ROOT);
	assert_has(text, "\"comm\":\"t\\\"\\u000a" UTF8_REPLACEMENT "\"");
	assert_has(text, "\"stack_data\":\"[p] app;a:b\\\"\\\\ " UTF8_REPLACEMENT "\"}\n");
	/* The length is that of the text, not of its JSON form. */
	assert_int_equal(number(text, 0, "\"stack_data_len\":"), 7 + 1 + 6 + 3);
	assert_int_equal(strchr(text, '\n') - text, strlen(text) - 1);
}

static void other_kinds_of_frames_keep_the_suffix_of_folded_text(void **state)
{
	_cleanup_fixture_ struct fixture fixture = new_fixture();
	uint32_t node = add_child(fixture.tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[7]app");

	(void)state;
	node = add_child(fixture.tree, node, FRAME_TYPE_MARKER, "[truncated]");
	node = add_python(fixture.tree, node, "C.run", "pkg/a.py", 12);
	node = add_child(fixture.tree, node, FRAME_TYPE_JIT, "compiled");
	node = add_child(fixture.tree, node, FRAME_TYPE_KERNEL, "schedule");
	node = add_child(fixture.tree, node, FRAME_TYPE_MARKER, "[runqueue]");
	add(&fixture, "app", node, 7, 1);
	_cleanup_free_ char *text = write_lines(&fixture, PROBE_OFFCPU, TREE_ROOT);
	assert_has(text, "\"[p] app;[truncated];C.run (pkg/a.py:12)_[p];compiled_[j];[k] "
			 "schedule;[runqueue]\"");
	assert_int_equal(number(text, 0, "\"k_stack_id\":"),
			 stack_id(";[k] schedule;[runqueue]", 24));
}

static void a_part_of_the_tree_has_its_own_lines_only(void **state)
{
	_cleanup_fixture_ struct fixture fixture = new_fixture();
	uint32_t node = add_stack(fixture.tree, "main", "read");
	uint32_t other = add_child(fixture.tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[8]other");

	(void)state;
	add(&fixture, "worker", node, 8, 1);
	add(&fixture, "worker", other, 9, 1);
	_cleanup_free_ char *all = write_lines(&fixture, PROBE_ONCPU, TREE_ROOT);
	_cleanup_free_ char *part =
		write_lines(&fixture, PROBE_ONCPU, tree_parent(fixture.tree, node));
	assert_has(all, "\"tid\":9");
	assert_has(part, "\"tid\":8");
	assert_null(strstr(part, "\"tid\":9"));
}

static void without_records_there_is_no_line(void **state)
{
	_cleanup_fixture_ struct fixture fixture = new_fixture();
	struct profile_meta meta = {0};

	(void)state;
	_cleanup_free_ char *none = write_lines(&fixture, PROBE_ONCPU, TREE_ROOT);
	_cleanup_free_ char *unknown = write_with("jsonl", fixture.tree, TREE_ROOT, &meta);
	assert_string_equal(none, "");
	assert_string_equal(unknown, "");
}

/* The last one: it fills the table. */
static void when_the_table_is_full_equal_texts_have_equal_numbers_still(void **state)
{
	char text[32];
	int64_t first = stack_id("first", 5), id = 0;

	(void)state;
	for (uint32_t i = 0; i <= STACK_IDS_MAX; i++) {
		int len = snprintf(text, sizeof(text), "%u", i);

		id = stack_id(text, (size_t)len);
		assert_true(id > STACK_ID_NONE);
	}
	assert_true(id >= STACK_ID_LOOSE);
	assert_int_equal(stack_id(text, strlen(text)), id);
	assert_int_equal(stack_id("first", 5), first);
	assert_true(first < STACK_ID_LOOSE);
	assert_int_equal(stack_id("", 0), STACK_ID_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_the_fifteen_fields),
		cmocka_unit_test(the_profilers_number_is_the_probes),
		cmocka_unit_test(equal_halves_have_equal_ids_over_threads_and_calls),
		cmocka_unit_test(functions_of_one_name_in_program_and_library_are_told_apart),
		cmocka_unit_test(hostile_names_stay_one_frame_and_one_string),
		cmocka_unit_test(other_kinds_of_frames_keep_the_suffix_of_folded_text),
		cmocka_unit_test(a_part_of_the_tree_has_its_own_lines_only),
		cmocka_unit_test(without_records_there_is_no_line),
		cmocka_unit_test(when_the_table_is_full_equal_texts_have_equal_numbers_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
