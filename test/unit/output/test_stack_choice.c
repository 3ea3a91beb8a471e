// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks that are chosen by their values, and lines in the order of these. */
#include "unit/output/tree_figures.h"

#include <string.h>

#include "base/cleanup.h"
#include "profile/stack_choice.h"

static struct profile *profile;

/* A chain a;b;c… of one process: each frame has the value of the same place, 0: it ends no stack.
 */
static void add_chain(const char *names, const uint64_t *values)
{
	static const struct record_who who = {.pid = 1, .process = "p", .thread = "t"};
	int64_t node = profile_thread(profile, &who, false);

	for (size_t i = 0; names[i]; i++) {
		node = tree_child(profile->tree, (uint32_t)node, FRAME_TYPE_NATIVE, names + i, 1);
		assert_true(node > 0);
		struct record record = {.key = {.node = (uint32_t)node, .tid = 1},
					.weight = values[i],
					.who = &who};

		if (values[i])
			assert_int_equal(profile_add(profile, &record, 10 * values[i], 1), 0);
	}
}

static int begin(void **state)
{
	(void)state;
	assert_int_equal(profile_new(&profile, PROBE_ONCPU, 0, 1), 0);
	add_chain("abc", (const uint64_t[]){5, 0, 7});
	add_chain("abd", (const uint64_t[]){0, 0, 2});
	add_chain("x", (const uint64_t[]){7});
	add_chain("y", (const uint64_t[]){7});
	return 0;
}

static int end(void **state)
{
	(void)state;
	profile_unref(profile);
	profile = NULL;
	return 0;
}

static void assert_chosen(const struct stack_choice *choice, const char *expected)
{
	_cleanup_profile_ struct profile *chosen = NULL;
	_cleanup_buf_ struct buf out = BUF_INIT(4096);
	const struct profile_meta meta = {.by_value = choice->by_value};

	assert_int_equal(profile_choose(&chosen, profile, choice), 0);
	assert_int_equal(folded_write(chosen->tree, TREE_ROOT, &meta, &out), 0);
	buf_char(&out, '\0');
	assert_string_equal(out.data, expected);
	assert_int_equal(weight_of(chosen->tree), chosen->weight);
	assert_int_equal(chosen->events, 10 * chosen->weight);
}

static void without_bounds_all_are_there_in_order_of_names(void **state)
{
	(void)state;
	assert_false(stack_choice_chooses(&(struct stack_choice){.by_value = true}));
	assert_chosen(&(struct stack_choice){0},
		      "[1]p;a 5\n[1]p;a;b;c 7\n[1]p;a;b;d 2\n[1]p;x 7\n[1]p;y 7\n");
}

static void bounds_are_included(void **state)
{
	(void)state;
	assert_chosen(&(struct stack_choice){.min = 5, .max = 5}, "[1]p;a 5\n");
	assert_chosen(&(struct stack_choice){.max = 5}, "[1]p;a 5\n[1]p;a;b;d 2\n");
	assert_chosen(&(struct stack_choice){.min = 8}, "");
}

static void the_largest_are_as_many_as_asked(void **state)
{
	(void)state;
	assert_chosen(&(struct stack_choice){.top = 4},
		      "[1]p;a 5\n[1]p;a;b;c 7\n[1]p;x 7\n[1]p;y 7\n");
	assert_chosen(&(struct stack_choice){.top = 5},
		      "[1]p;a 5\n[1]p;a;b;c 7\n[1]p;a;b;d 2\n[1]p;x 7\n[1]p;y 7\n");
	assert_chosen(&(struct stack_choice){.top = 1, .max = 6}, "[1]p;a 5\n");
	for (uint64_t top = 1; top <= 3; top++) {
		_cleanup_profile_ struct profile *chosen = NULL;

		assert_int_equal(
			profile_choose(&chosen, profile, &(struct stack_choice){.top = top}), 0);
		assert_int_equal(chosen->weight, 7 * top);
	}
}

static void by_value_the_largest_comes_first_and_equals_stay(void **state)
{
	(void)state;
	assert_chosen(&(struct stack_choice){.by_value = true},
		      "[1]p;a;b;c 7\n[1]p;x 7\n[1]p;y 7\n[1]p;a 5\n[1]p;a;b;d 2\n");
}

/* A frame that leads to a chosen stack, but ends one that isn't, has no record. */
static void records_are_those_of_the_stacks_that_are_chosen(void **state)
{
	_cleanup_profile_ struct profile *chosen = NULL;
	_cleanup_free_ struct record *records = NULL;

	(void)state;
	assert_int_equal(profile_choose(&chosen, profile, &(struct stack_choice){.max = 2}), 0);
	assert_int_equal(records_list(chosen->records, &records), 1);
	assert_int_equal(records[0].weight, 2);
}

static const char *made_of(struct stack_choice *choice, struct stack_wish wish, const char *format)
{
	return stack_choice_make(choice, &wish, output_find(format));
}

#define NONE STACK_WISH_NONE

static void a_wish_becomes_a_choice_and_the_largest_are_sorted_unless_it_says_else(void **state)
{
	struct stack_choice choice;

	(void)state;
	assert_null(made_of(&choice, (struct stack_wish){NONE, NONE, NONE, NULL}, "svg"));
	assert_false(stack_choice_chooses(&choice) || choice.by_value);
	assert_null(made_of(&choice, (struct stack_wish){0, 7, NONE, "Value"}, "jsonl"));
	assert_true(choice.min == 0 && choice.max == 7 && choice.top == 0 && choice.by_value);
	assert_null(made_of(&choice, (struct stack_wish){5, 5, STACK_TOP_MAX, NULL}, "pb.gz"));
	assert_true(choice.min == 5 && choice.top == STACK_TOP_MAX && choice.by_value);
	assert_null(made_of(&choice, (struct stack_wish){NONE, NONE, 2, "name"}, "folded"));
	assert_true(choice.top == 2 && !choice.by_value);
}

static void a_wish_that_makes_no_sense_is_told_and_changes_nothing(void **state)
{
	static const struct {
		struct stack_wish wish;
		const char *format, *says;
	} wrong[] = {
		{{NONE, NONE, 0, NULL}, "folded", "top must be a number from 1 to 1000000"},
		{{NONE, NONE, STACK_TOP_MAX + 1, NULL}, "folded", "top must be a number"},
		{{NONE, 0, NONE, NULL}, "folded", "max from 1 on"},
		{{-2, NONE, NONE, NULL}, "folded", "min and max must be whole numbers"},
		{{6, 5, NONE, NULL}, "folded", "min must not be more than max"},
		{{NONE, NONE, NONE, "size"}, "folded", "sort must be name or value"},
		{{NONE, NONE, NONE, "value"}, "svg", "sort is for folded and jsonl"},
		{{NONE, NONE, NONE, "value"}, "json", "sort is for folded and jsonl"},
	};
	struct stack_choice choice = {.min = 3};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const char *message = made_of(&choice, wrong[i].wish, wrong[i].format);

		assert_non_null(message);
		assert_non_null(strstr(message, wrong[i].says));
		assert_true(choice.min == 3 && !choice.max && !choice.top && !choice.by_value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_bounds_all_are_there_in_order_of_names,
						begin, end),
		cmocka_unit_test_setup_teardown(bounds_are_included, begin, end),
		cmocka_unit_test_setup_teardown(the_largest_are_as_many_as_asked, begin, end),
		cmocka_unit_test_setup_teardown(by_value_the_largest_comes_first_and_equals_stay,
						begin, end),
		cmocka_unit_test_setup_teardown(records_are_those_of_the_stacks_that_are_chosen,
						begin, end),
		cmocka_unit_test(
			a_wish_becomes_a_choice_and_the_largest_are_sorted_unless_it_says_else),
		cmocka_unit_test(a_wish_that_makes_no_sense_is_told_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
