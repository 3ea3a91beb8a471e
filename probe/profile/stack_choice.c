// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/stack_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* The stacks that are still to be taken. */
struct choosing {
	const struct stack_choice *choice;
	uint64_t least; /* value from which on all are taken */
	uint64_t equal; /* stacks of the value below that are taken too */
};

/* Returns what is wrong with a wish; NULL: nothing. */
static const char *check_wish(const struct stack_wish *wish, const struct output *output)
{
	bool is_text =
		strcmp(output->extension, "folded") == 0 || strcmp(output->extension, "jsonl") == 0;

	if (wish->top != STACK_WISH_NONE && (wish->top < 1 || wish->top > STACK_TOP_MAX))
		return "top must be a number from 1 to 1000000";
	if (wish->min < STACK_WISH_NONE || wish->max < STACK_WISH_NONE || wish->max == 0)
		return "min and max must be whole numbers, of the unit of the values; max from 1 "
		       "on";
	if (wish->max > 0 && wish->min > wish->max)
		return "min must not be more than max";
	if (wish->sort && strcasecmp(wish->sort, "name") != 0 &&
	    strcasecmp(wish->sort, "value") != 0)
		return "sort must be name or value";
	return wish->sort && !is_text ? "sort is for folded and jsonl" : NULL;
}

const char *stack_choice_make(struct stack_choice *choice, const struct stack_wish *wish,
			      const struct output *output)
{
	const char *message = check_wish(wish, output);

	if (message)
		return message;
	*choice = (struct stack_choice){
		.min = wish->min > 0 ? (uint64_t)wish->min : 0,
		.max = wish->max > 0 ? (uint64_t)wish->max : 0,
		.top = wish->top > 0 ? (uint64_t)wish->top : 0,
		.by_value = wish->sort ? strcasecmp(wish->sort, "value") == 0 : wish->top > 0,
	};
	return NULL;
}

bool stack_choice_chooses(const struct stack_choice *choice)
{
	return choice->min || choice->max || choice->top;
}

static bool is_within(const struct stack_choice *choice, uint64_t weight)
{
	return weight && weight >= choice->min && (!choice->max || weight <= choice->max);
}

static int compare_values(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left < right) - (left > right);
}

/* Finds the value of the last of the largest stacks, and how many of that value are among them. */
static int find_least(struct choosing *choosing, const struct tree *tree)
{
	const struct stack_choice *choice = choosing->choice;
	_cleanup_free_ uint64_t *values = calloc(tree_count(tree), sizeof(*values));
	size_t count = 0;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < tree_count(tree); i++) {
		uint64_t weight = tree_node_of(tree, (uint32_t)i).weight;

		if (is_within(choice, weight))
			values[count++] = weight;
	}
	if (count <= choice->top)
		return 0;
	qsort(values, count, sizeof(*values), compare_values);
	uint64_t last = values[choice->top - 1];
	choosing->least = last + 1;
	for (size_t i = choice->top; i-- > 0 && values[i] == last;)
		choosing->equal++;
	return 0;
}

static bool takes_stack(void *arg, uint64_t weight)
{
	struct choosing *choosing = arg;

	if (!is_within(choosing->choice, weight))
		return false;
	if (weight >= choosing->least)
		return true;
	if (weight + 1 < choosing->least || !choosing->equal)
		return false;
	choosing->equal--;
	return true;
}

static void sum_up(struct profile *profile)
{
	profile->weight = profile->events = 0;
	for (size_t i = 0; i < tree_count(profile->tree); i++) {
		struct tree_node node = tree_node_of(profile->tree, (uint32_t)i);

		profile->weight += node.weight;
		profile->events += node.events;
	}
}

int profile_choose(struct profile **ret, const struct profile *from,
		   const struct stack_choice *choice)
{
	struct choosing choosing = {.choice = choice};
	_cleanup_profile_ struct profile *made = NULL;
	_cleanup_free_ uint32_t *numbers = NULL;
	int r = choice->top ? find_least(&choosing, from->tree) : 0;

	if (r == 0)
		r = profile_new_like(&made, from, true);
	if (r == 0)
		r = tree_merge_some(made->tree, from->tree, takes_stack, &choosing, &numbers);
	if (r == 0)
		r = records_merge(made->records, from->records, numbers);
	if (r < 0)
		return r;
	sum_up(made);
	*ret = TAKE_PTR(made);
	return 0;
}
