// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "heap/stack_cache.h"

static const struct stack_cache_limits roomy = {100000, 1000000, 16 << 20};

static struct stack_cache *new_ledger(const struct stack_cache_limits *limits)
{
	struct stack_cache *stack_cache;

	assert_int_equal(stack_cache_new(&stack_cache, limits), 0);
	return stack_cache;
}

static struct stack_key key_of(uint64_t number)
{
	return (struct stack_key){.hash = number, .tgid = 7, .probe = PROBE_MEM_GLIBC};
}

static struct cached_stack a_stack(uint32_t node)
{
	static const uint8_t bits[] = {5}, native_only[] = {2, 1};

	return (struct cached_stack){
		.node = node,
		.who = {.pid = 7, .start_ticks = 9, .process = "app", .thread = "worker"},
		.libraries = {bits, sizeof(bits)},
		.native_only = {native_only, sizeof(native_only)},
	};
}

static int64_t child(struct stack_cache *stack_cache, int64_t parent, const char *name)
{
	return parent < 0 ? parent
			  : tree_child(stack_cache_tree(stack_cache), (uint32_t)parent,
				       FRAME_TYPE_NATIVE, name, strlen(name));
}

/* main; site<number>; malloc */
static int note(struct stack_cache *stack_cache, uint64_t number)
{
	struct stack_key key = key_of(number);
	char site[32];

	if (stack_cache_see(stack_cache, &key))
		return 0;
	snprintf(site, sizeof(site), "site%llu", (unsigned long long)number);
	int64_t node =
		child(stack_cache, child(stack_cache, child(stack_cache, TREE_ROOT, "main"), site),
		      "malloc");
	if (node < 0) {
		stack_cache_refuse(stack_cache);
		return (int)node;
	}
	struct cached_stack stack = a_stack((uint32_t)node);
	return stack_cache_put(stack_cache, &key, &stack);
}

/* Whether it is known with its frames. */
static bool knows(struct stack_cache *stack_cache, uint64_t number)
{
	struct stack_key key = key_of(number);
	struct cached_stack stack;
	char site[32];

	if (!stack_cache_get(stack_cache, &key, &stack))
		return false;
	snprintf(site, sizeof(site), "site%llu", (unsigned long long)number);
	const struct tree *tree = stack_cache_tree(stack_cache);
	uint32_t above = tree_parent(tree, stack.node);
	assert_string_equal(tree_frame_of(tree, stack.node).name, "malloc");
	assert_string_equal(tree_frame_of(tree, above).name, site);
	assert_string_equal(tree_frame_of(tree, tree_parent(tree, above)).name, "main");
	assert_string_equal(stack.who.process, "app");
	assert_string_equal(stack.who.thread, "worker");
	assert_int_equal(stack.who.start_ticks, 9);
	assert_int_equal(stack.libraries.bytes, 1);
	assert_int_equal(stack.libraries.bits[0], 5);
	assert_int_equal(stack.native_only.bytes, 2);
	assert_memory_equal(stack.native_only.bits, ((uint8_t[]){2, 1}), 2);
	return true;
}

static void hold(struct stack_cache *stack_cache, uint64_t number)
{
	struct stack_key key = key_of(number);

	stack_cache_hold(stack_cache, &key);
}

static void test_a_stack_is_known_in_later_windows(void **state)
{
	struct stack_cache *stack_cache = new_ledger(&roomy);

	(void)state;
	stack_cache_begin(stack_cache);
	assert_int_equal(note(stack_cache, 1), 0);
	stack_cache_begin(stack_cache);
	assert_int_equal(note(stack_cache, 2), 0);
	assert_true(knows(stack_cache, 1));
	assert_true(knows(stack_cache, 2));
	assert_false(knows(stack_cache, 3));
	stack_cache_free(stack_cache);
}

static void test_a_purge_drops_what_holds_nothing_and_is_not_of_the_last_window(void **state)
{
	struct stack_cache *stack_cache = new_ledger(&roomy);

	(void)state;
	stack_cache_begin(stack_cache);
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(note(stack_cache, i), 0);
	stack_cache_begin(stack_cache);
	assert_int_equal(note(stack_cache, 3), 0); /* it came again */
	assert_int_equal(note(stack_cache, 4), 0);
	hold(stack_cache, 2);
	stack_cache_purge(stack_cache);
	assert_false(knows(stack_cache, 1));
	assert_true(knows(stack_cache, 2));
	assert_true(knows(stack_cache, 3));
	assert_true(knows(stack_cache, 4));

	/* What was held then isn't for that held for ever. */
	stack_cache_begin(stack_cache);
	stack_cache_purge(stack_cache);
	assert_false(knows(stack_cache, 2));
	assert_false(knows(stack_cache, 4));
	stack_cache_free(stack_cache);
}

static void test_the_tree_is_rebuilt_when_most_of_it_is_dead(void **state)
{
	struct stack_cache *stack_cache = new_ledger(&roomy);
	struct stack_cache_stats stats;

	(void)state;
	stack_cache_begin(stack_cache);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(note(stack_cache, i), 0);
	stack_cache_stats(stack_cache, &stats);
	assert_int_equal(stats.stacks, 5000);
	assert_int_equal(stats.nodes, 10001);

	/* Two thirds of it live: it stays. */
	stack_cache_begin(stack_cache);
	for (uint64_t i = 0; i < 5000; i++)
		if (i % 3)
			hold(stack_cache, i);
	stack_cache_purge(stack_cache);
	stack_cache_stats(stack_cache, &stats);
	assert_int_equal(stats.nodes, 10001);

	stack_cache_begin(stack_cache);
	for (uint64_t i = 1; i < 5000; i += 3)
		hold(stack_cache, i);
	stack_cache_purge(stack_cache);
	stack_cache_stats(stack_cache, &stats);
	assert_int_equal(stats.stacks, 1667);
	assert_int_equal(stats.nodes, 2 * 1667 + 1);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(knows(stack_cache, i), i % 3 == 1);
	assert_int_equal(note(stack_cache, 0), 0);
	assert_true(knows(stack_cache, 0));
	stack_cache_free(stack_cache);
}

static void test_names_of_processes_that_ended_find_room_for_others(void **state)
{
	static const struct stack_cache_limits few_bytes = {100000, 1000000, 1 << 20};
	struct stack_cache *stack_cache = new_ledger(&few_bytes);
	struct stack_cache_stats stats;

	(void)state;
	for (uint64_t window = 0; window < 50; window++) {
		stack_cache_begin(stack_cache);
		for (uint64_t i = 0; i < 1000; i++) {
			struct stack_key key = key_of(window * 1000 + i);
			int64_t node = child(stack_cache, TREE_ROOT, "main");
			struct cached_stack stack = a_stack((uint32_t)node);

			stack.who.pid = (int)key.hash + 1;
			assert_int_equal(stack_cache_put(stack_cache, &key, &stack), 0);
		}
		stack_cache_purge(stack_cache);
	}
	stack_cache_stats(stack_cache, &stats);
	assert_int_equal(stats.stacks, 1000);
	assert_int_equal(stats.refused, 0);
	stack_cache_free(stack_cache);
}

static void test_what_finds_no_room_is_counted(void **state)
{
	static const struct stack_cache_limits few_stacks = {4, 1000, 1 << 20};
	static const struct stack_cache_limits few_nodes = {1000, 10, 1 << 20};
	struct stack_cache_stats stats;

	(void)state;
	for (int of_nodes = 0; of_nodes < 2; of_nodes++) {
		struct stack_cache *stack_cache = new_ledger(of_nodes ? &few_nodes : &few_stacks);
		uint64_t number = 0;

		stack_cache_begin(stack_cache);
		while (note(stack_cache, number) == 0)
			assert_true(++number < 100);
		assert_int_equal(note(stack_cache, number + 1), -ENOSPC);
		stack_cache_stats(stack_cache, &stats);
		assert_int_equal(stats.refused, 2);
		assert_int_equal(stats.stacks, number);
		assert_true(knows(stack_cache, number - 1));
		assert_false(knows(stack_cache, number));
		stack_cache_free(stack_cache);
	}
}

static void test_what_was_known_in_part_is_put_again(void **state)
{
	struct stack_cache *stack_cache = new_ledger(&roomy);
	struct stack_key key = key_of(1);
	struct cached_stack stack = a_stack((uint32_t)child(stack_cache, TREE_ROOT, "[unknown]")),
			    found;

	(void)state;
	stack_cache_begin(stack_cache);
	stack.partial = true;
	assert_int_equal(stack_cache_put(stack_cache, &key, &stack), 0);
	assert_true(stack_cache_get(stack_cache, &key, &found));
	assert_false(stack_cache_see(stack_cache, &key));
	assert_int_equal(note(stack_cache, 1), 0);
	assert_true(stack_cache_see(stack_cache, &key));
	assert_true(knows(stack_cache, 1));
	stack_cache_free(stack_cache);
}

static void test_all_can_be_forgotten(void **state)
{
	struct stack_cache *stack_cache = new_ledger(&roomy);
	struct stack_cache_stats stats;

	(void)state;
	stack_cache_begin(stack_cache);
	assert_int_equal(note(stack_cache, 1), 0);
	stack_cache_clear(stack_cache);
	assert_false(knows(stack_cache, 1));
	stack_cache_stats(stack_cache, &stats);
	assert_int_equal(stats.stacks, 0);
	assert_int_equal(stats.nodes, 0);
	assert_int_equal(note(stack_cache, 1), 0);
	assert_true(knows(stack_cache, 1));
	stack_cache_free(stack_cache);
}

static void test_what_lies_behind_a_name_is_no_part_of_it(void **state)
{
	struct stack_cache_limits limits = roomy;
	struct stack_cache_stats stats;

	(void)state;
	limits.name_bytes = 200; /* room for one process */
	struct stack_cache *stack_cache = new_ledger(&limits);
	for (uint64_t number = 1; number <= 4; number++) {
		struct stack_key key = key_of(number);
		struct cached_stack stack = a_stack(TREE_ROOT);

		stack.who.process[8] = stack.who.thread[8] = (char)number;
		assert_int_equal(stack_cache_put(stack_cache, &key, &stack), 0);
	}
	stack_cache_stats(stack_cache, &stats);
	assert_int_equal(stats.stacks, 4);
	assert_int_equal(stats.refused, 0);
	stack_cache_free(stack_cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stack_is_known_in_later_windows),
		cmocka_unit_test(
			test_a_purge_drops_what_holds_nothing_and_is_not_of_the_last_window),
		cmocka_unit_test(test_the_tree_is_rebuilt_when_most_of_it_is_dead),
		cmocka_unit_test(test_names_of_processes_that_ended_find_room_for_others),
		cmocka_unit_test(test_what_finds_no_room_is_counted),
		cmocka_unit_test(test_what_was_known_in_part_is_put_again),
		cmocka_unit_test(test_all_can_be_forgotten),
		cmocka_unit_test(test_what_lies_behind_a_name_is_no_part_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
