// SPDX-License-Identifier: GPL-2.0-or-later
/* Readings of a real map of the kernel; without the privilege to make one they are skipped. */
#include "unit/lib/unit.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

#include "bpf/shared/allocations.h"
#include "unit/lib/buf_text.h"
#include "output/format/output.h"
#include "heap/live_snapshot.h"

#define NOW 1000000

static const struct stack_cache_limits limits = {100000, 1000000, 16 << 20};

static struct stack_cache *stack_cache;
static int map_fd;

static int new_map(uint32_t entries)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &all);
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "held", sizeof(struct allocation_key),
				sizeof(struct allocation), entries, NULL);
	if (fd == -EPERM || fd == -ENOSYS) {
		print_message("a BPF map can't be made here\n");
		skip();
	}
	assert_true(fd >= 0);
	return fd;
}

static int set_up(void **state)
{
	(void)state;
	stack_cache_new(&stack_cache, &limits);
	stack_cache_begin(stack_cache);
	map_fd = -1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stack_cache_free(stack_cache);
	if (map_fd >= 0)
		close(map_fd);
	return 0;
}

static struct stack_key key_of(uint32_t pid, uint64_t stack)
{
	return (struct stack_key){.hash = stack, .tgid = pid, .probe = PROBE_MEM_GLIBC};
}

/* A stack that is known as main;<name>. */
static void know(uint32_t pid, uint64_t stack, const char *name, bool own)
{
	struct stack_key key = key_of(pid, stack);
	struct tree *tree = stack_cache_tree(stack_cache);
	int64_t node = tree_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "main", 4);
	struct cached_stack known = {
		.own = own,
		.who = {.pid = (pid_t)pid, .process = "app", .thread = "worker"},
	};

	node = tree_child(tree, (uint32_t)node, FRAME_TYPE_NATIVE, name, strlen(name));
	known.node = (uint32_t)node;
	assert_int_equal(stack_cache_put(stack_cache, &key, &known), 0);
}

static void allocate(uint32_t pid, uint64_t address, uint64_t stack, uint64_t bytes,
		     uint64_t time_ns)
{
	struct allocation_key key = {.address = address, .tgid = pid};
	struct allocation allocation = {.stack = key_of(pid, stack),
					.time_ns = time_ns,
					.bytes = bytes,
					.objects = 1,
					.tid = pid};

	assert_int_equal(bpf_map_update_elem(map_fd, &key, &allocation, BPF_ANY), 0);
}

static bool is_held(uint32_t pid, uint64_t address)
{
	struct allocation_key key = {.address = address, .tgid = pid};
	struct allocation allocation;

	return bpf_map_lookup_elem(map_fd, &key, &allocation) == 0;
}

static struct live_owner holder(uint32_t pid, bool shown, uint64_t since_ns)
{
	return (struct live_owner){.pid = pid,
				   .shown = shown,
				   .since_ns = since_ns,
				   .who = {.pid = (pid_t)pid, .process = "now"}};
}

static struct live_snapshot question(const struct live_owner *holders, size_t count, uint32_t views)
{
	struct live_snapshot reading = {
		.fd = dup(map_fd),
		.owners = calloc(count + 1, sizeof(*holders)),
		.owners_count = count,
		.listed_ns = NOW,
		.views = views,
		.filter = {.before_ns = UINT64_MAX},
		.named_ns = UINT64_MAX,
		.stack_cache = stack_cache,
	};

	if (count)
		memcpy(reading.owners, holders, count * sizeof(*holders));
	return reading;
}

static void assert_folded(const struct profile *profile, const char *expected)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	struct profile_meta meta;
	size_t len;

	assert_non_null(profile);
	profile_describe(profile, TREE_ROOT, "host", &meta);
	assert_int_equal(folded_write(profile->tree, TREE_ROOT, &meta, &out), 0);
	_cleanup_free_ char *text = take_text(&out, &len);
	assert_string_equal(text ? text : "", expected);
}

static void test_what_is_held_is_summed_by_stack(void **state)
{
	const struct live_owner app = holder(7, true, 0);

	(void)state;
	map_fd = new_map(100);
	know(7, 1, "keep", false);
	know(7, 2, "leak", false);
	allocate(7, 0x10, 1, 100, 10);
	allocate(7, 0x20, 1, 200, 20);
	allocate(7, 0x30, 2, 50, 30);
	struct live_snapshot reading = question(&app, 1, 1u << VIEW_INUSE);
	live_snapshot_run(&reading);
	assert_int_equal(reading.error, 0);
	assert_folded(reading.profiles[VIEW_INUSE], "[7]app;main;keep 300\n[7]app;main;leak 50\n");
	assert_null(reading.profiles[VIEW_MMAP]);
	assert_int_equal(reading.profiles[VIEW_INUSE]->weight, 350);
	assert_int_equal(reading.profiles[VIEW_INUSE]->events, 3);
	assert_int_equal(reading.entries, 3);
	assert_int_equal(reading.dead, 0);
	live_snapshot_done(&reading);
}

static void test_the_thread_has_a_frame_where_it_is_wanted(void **state)
{
	const struct live_owner app = holder(7, true, 0);

	(void)state;
	map_fd = new_map(100);
	know(7, 1, "keep", false);
	allocate(7, 0x10, 1, 100, 10);
	struct live_snapshot reading = question(&app, 1, 1u << VIEW_INUSE);
	reading.detail.thread_frame = true;
	live_snapshot_run(&reading);
	assert_folded(reading.profiles[VIEW_INUSE], "[7]app;worker;main;keep 100\n");
	live_snapshot_done(&reading);
}

/* main;(loop);f (a.py:7);libx;f (a.py:9), where (…) is an interpreter's own. */
static void know_python(uint32_t pid, uint64_t stack)
{
	static const uint8_t native_only[] = {1 << 1}, libraries[] = {1 << 1 | 1 << 3};
	struct stack_key key = key_of(pid, stack);
	struct tree *tree = stack_cache_tree(stack_cache);
	struct frame python = {FRAME_TYPE_PYTHON, "f", 1, 0, .source = {"a.py", 4, 7}};
	struct cached_stack known = {
		.who = {.pid = (pid_t)pid, .process = "app", .thread = "worker"},
		.libraries = {libraries, 1},
		.native_only = {native_only, 1},
	};
	int64_t node = tree_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "main", 4);

	node = tree_child(tree, (uint32_t)node, FRAME_TYPE_NATIVE, "loop", 4);
	node = tree_child_with(tree, (uint32_t)node, &python);
	node = tree_child(tree, (uint32_t)node, FRAME_TYPE_NATIVE, "libx", 4);
	python.source.line = 9;
	known.node = (uint32_t)tree_child_with(tree, (uint32_t)node, &python);
	assert_int_equal(stack_cache_put(stack_cache, &key, &known), 0);
}

static void test_stacks_are_shown_in_the_detail_that_is_asked_for(void **state)
{
	static const struct {
		struct stack_detail detail;
		const char *expected;
		uint8_t libraries;
	} cases[] = {
		{{0}, "[7]app;main;f (a.py:7)_[p];libx;f (a.py:9)_[p] 100\n", 1 << 2},
		{{.native_stack = true},
		 "[7]app;main;loop;f (a.py:7)_[p];libx;f (a.py:9)_[p] 100\n",
		 1 << 1 | 1 << 3},
		{{.native_stack = true, .frames = FRAME_DETAIL_NAME},
		 "[7]app;main;loop;f (a.py)_[p];libx;f (a.py)_[p] 100\n",
		 1 << 1 | 1 << 3},
		{{.frames = FRAME_DETAIL_NAME},
		 "[7]app;main;f (a.py)_[p];libx;f (a.py)_[p] 100\n",
		 1 << 2},
	};
	const struct live_owner app = holder(7, true, 0);

	(void)state;
	map_fd = new_map(100);
	know_python(7, 1);
	allocate(7, 0x10, 1, 100, 10);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ struct record *records = NULL;
		struct live_snapshot reading = question(&app, 1, 1u << VIEW_INUSE);

		reading.detail = cases[i].detail;
		live_snapshot_run(&reading);
		assert_folded(reading.profiles[VIEW_INUSE], cases[i].expected);
		assert_int_equal(records_list(reading.profiles[VIEW_INUSE]->records, &records), 1);
		assert_int_equal(records[0].libraries.bytes, 1);
		assert_int_equal(records[0].libraries.bits[0], cases[i].libraries);
		live_snapshot_done(&reading);
	}
}

static void test_dead_entries_go_and_are_not_shown(void **state)
{
	const struct live_owner holders[] = {holder(7, true, 500), holder(9, true, 0)};

	(void)state;
	map_fd = new_map(100);
	know(7, 1, "keep", false);
	know(8, 1, "gone", false);
	know(9, 1, "other", false);
	allocate(7, 0x10, 1, 1, 499); /* before its last exec */
	allocate(7, 0x20, 1, 2, 500);
	allocate(8, 0x10, 1, 4, 600); /* nobody has that pid any more */
	allocate(9, 0x10, 1, 8, 1);
	allocate(10, 0x10, 1, 16, NOW); /* it came after these were listed */
	struct live_snapshot reading = question(holders, ARRAY_SIZE(holders), 1u << VIEW_INUSE);
	live_snapshot_run(&reading);
	assert_folded(reading.profiles[VIEW_INUSE], "[7]app;main;keep 2\n[9]app;main;other 8\n");
	assert_int_equal(reading.dead, 2);
	assert_int_equal(reading.entries, 5);
	assert_false(is_held(7, 0x10));
	assert_true(is_held(7, 0x20));
	assert_false(is_held(8, 0x10));
	assert_true(is_held(9, 0x10));
	assert_true(is_held(10, 0x10));
	live_snapshot_done(&reading);
}

static void test_only_what_is_asked_for_is_shown_and_all_stays(void **state)
{
	const struct live_owner holders[] = {holder(7, true, 0), holder(8, false, 0)};

	(void)state;
	map_fd = new_map(100);
	know(7, 1, "keep", false);
	know(8, 1, "keep", false);
	for (uint64_t i = 1; i <= 5; i++) {
		allocate(7, i, 1, 1u << i, i * 100);
		allocate(8, i, 1, 1000, i * 100);
	}
	struct live_snapshot reading = question(holders, ARRAY_SIZE(holders), 1u << VIEW_INUSE);
	reading.filter = (struct live_alloc_filter){.since_ns = 200, .before_ns = 400};
	live_snapshot_run(&reading);
	assert_folded(reading.profiles[VIEW_INUSE], "[7]app;main;keep 28\n");
	assert_int_equal(reading.dead, 0);
	assert_true(is_held(8, 1));
	live_snapshot_done(&reading);
}

static void test_a_stack_that_is_not_known_is_shown_as_that(void **state)
{
	const struct live_owner app = holder(7, true, 0);

	(void)state;
	map_fd = new_map(100);
	allocate(7, 0x10, 1, 100, 10);
	allocate(7, 0x20, 2, 200, 10);
	struct live_snapshot reading = question(&app, 1, 1u << VIEW_INUSE);
	live_snapshot_run(&reading);
	assert_folded(reading.profiles[VIEW_INUSE], "[7]now;[unknown] 300\n");
	assert_int_equal(reading.result.unknown, 2);
	live_snapshot_done(&reading);
}

static void test_what_is_too_young_to_have_names_is_left_out(void **state)
{
	const struct live_owner app = holder(7, true, 0);

	(void)state;
	map_fd = new_map(100);
	know(7, 1, "keep", false);
	allocate(7, 0x10, 1, 1, 101); /* its stack was seen before */
	allocate(7, 0x20, 2, 2, 101);
	allocate(7, 0x30, 3, 4, 100);
	struct live_snapshot reading = question(&app, 1, 1u << VIEW_INUSE);
	reading.named_ns = 100;
	live_snapshot_run(&reading);
	assert_folded(reading.profiles[VIEW_INUSE], "[7]app;main;keep 1\n[7]now;[unknown] 4\n");
	assert_int_equal(reading.young, 1);
	assert_int_equal(reading.dead, 0);
	live_snapshot_done(&reading);
}

static void test_mappings_are_a_view_without_those_of_allocators(void **state)
{
	const struct live_owner app = holder(7, true, 50);
	struct live_alloc mapped[] = {
		{.stack = key_of(7, 1), .tid = 7, .bytes = 4096, .objects = 1, .time_ns = 60},
		{.stack = key_of(7, 2), .tid = 7, .bytes = 1, .objects = 1, .time_ns = 60},
		{.stack = key_of(7, 1), .tid = 7, .bytes = 8192, .objects = 0, .time_ns = 60},
		{.stack = key_of(7, 1), .tid = 7, .bytes = 2, .objects = 1, .time_ns = 49},
		{.stack = key_of(8, 1), .tid = 8, .bytes = 4, .objects = 1, .time_ns = 60},
	};

	(void)state;
	map_fd = new_map(100);
	know(7, 1, "map", false);
	know(7, 2, "arena", true);
	struct live_snapshot reading = question(&app, 1, 1u << VIEW_INUSE | 1u << VIEW_MMAP);
	reading.mapped = malloc(sizeof(mapped));
	memcpy(reading.mapped, mapped, sizeof(mapped));
	reading.mapped_count = ARRAY_SIZE(mapped);
	live_snapshot_run(&reading);
	assert_folded(reading.profiles[VIEW_MMAP], "[7]app;main;map 12288\n");
	assert_int_equal(reading.profiles[VIEW_MMAP]->events, 1);
	assert_int_equal(reading.profiles[VIEW_INUSE]->weight, 0);
	live_snapshot_done(&reading);
}

static void test_the_ledger_keeps_what_holds_something(void **state)
{
	const struct live_owner app = holder(7, true, 0);
	struct stack_key held = key_of(7, 1), freed = key_of(7, 2), mapped = key_of(7, 3);
	struct cached_stack stack;

	(void)state;
	map_fd = new_map(100);
	know(7, 1, "keep", false);
	know(7, 2, "freed", false);
	know(7, 3, "map", false);
	stack_cache_begin(stack_cache);
	allocate(7, 0x10, 1, 100, 10);
	struct live_snapshot reading = question(&app, 1, 0);
	reading.mapped = calloc(1, sizeof(*reading.mapped));
	reading.mapped[0] = (struct live_alloc){.stack = mapped, .bytes = 1, .objects = 1};
	reading.mapped_count = 1;
	live_snapshot_run(&reading);
	assert_true(stack_cache_get(stack_cache, &held, &stack));
	assert_true(stack_cache_get(stack_cache, &mapped, &stack));
	assert_false(stack_cache_get(stack_cache, &freed, &stack));
	live_snapshot_done(&reading);
}

static void test_a_map_that_can_not_be_read_drops_nothing(void **state)
{
	struct stack_key key = key_of(7, 1);
	struct cached_stack stack;

	(void)state;
	map_fd = open("/dev/null", 0);
	know(7, 1, "keep", false);
	stack_cache_begin(stack_cache);
	struct live_snapshot reading = question(NULL, 0, 1u << VIEW_INUSE);
	live_snapshot_run(&reading);
	assert_int_equal(reading.error, -EINVAL);
	assert_null(reading.profiles[VIEW_INUSE]);
	assert_true(stack_cache_get(stack_cache, &key, &stack));
	live_snapshot_done(&reading);
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* More than one chunk, with dead ones among them. */
static void test_many_entries_are_all_read(void **state)
{
	enum { COUNT = 200000, STACKS = 2000 };
	const struct live_owner app = holder(7, true, 0);
	char name[32];

	(void)state;
	map_fd = new_map(COUNT);
	for (uint64_t i = 0; i < STACKS; i++) {
		snprintf(name, sizeof(name), "site%llu", (unsigned long long)i);
		know(7, i, name, false);
	}
	for (uint64_t i = 0; i < COUNT; i++)
		allocate(i % 10 ? 7 : 8, i * 16, i % STACKS, 3, 10);
	uint64_t began = now_us();
	struct live_snapshot reading = question(&app, 1, 1u << VIEW_INUSE);
	live_snapshot_run(&reading);
	print_message("%d entries: %llu us\n", COUNT, (unsigned long long)(now_us() - began));
	assert_int_equal(reading.error, 0);
	assert_int_equal(reading.entries, COUNT);
	assert_int_equal(reading.dead, COUNT / 10);
	assert_int_equal(reading.profiles[VIEW_INUSE]->weight, COUNT / 10 * 9 * 3);
	live_snapshot_done(&reading);

	reading = question(&app, 1, 0);
	live_snapshot_run(&reading);
	assert_int_equal(reading.entries, COUNT / 10 * 9);
	assert_int_equal(reading.dead, 0);
	live_snapshot_done(&reading);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_held_is_summed_by_stack),
		TEST(test_the_thread_has_a_frame_where_it_is_wanted),
		TEST(test_stacks_are_shown_in_the_detail_that_is_asked_for),
		TEST(test_dead_entries_go_and_are_not_shown),
		TEST(test_only_what_is_asked_for_is_shown_and_all_stays),
		TEST(test_a_stack_that_is_not_known_is_shown_as_that),
		TEST(test_what_is_too_young_to_have_names_is_left_out),
		TEST(test_mappings_are_a_view_without_those_of_allocators),
		TEST(test_the_ledger_keeps_what_holds_something),
		TEST(test_a_map_that_can_not_be_read_drops_nothing),
		TEST(test_many_entries_are_all_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
