// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_blend: functions that are told by process. */
#include "unit/history/process_scene.h"

#define LENGTH (30 * SECOND)

/* Adds the stacks as a window: the first one's weight is 1, the next one's 2, 4, 8 … */
static void blend_bits(struct blend *blend, const char *const stacks[], size_t count)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	for (size_t i = 0; i < count; i++)
		add_stack(tree, stacks[i], UINT64_C(1) << i, 0);
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	assert_int_equal(blend_window(blend, &window), 0);
}

static struct blend blend_stacks(const char *const stacks[], size_t count)
{
	struct blend blend = new_process_blend();

	blend_bits(&blend, stacks, count);
	return blend;
}

/* Process NULL: a function of no process, or a process. */
static void assert_row(const struct blend *blend, const char *process, const char *written,
		       double self, double total)
{
	const struct function_row *row = find_owned(blend->functions, process, written);

	if (!row)
		fail_msg("%s has no %s", process ? process : "nobody", written);
	if (row->self[blend->side].sum != self || row->total[blend->side].sum != total)
		fail_msg("%s of %s: self %g, total %g", written, process ? process : "nobody",
			 row->self[blend->side].sum, row->total[blend->side].sum);
}

static void assert_container(const struct blend *blend, const char *process, const char *container)
{
	const struct function_row *row = find_owned(blend->functions, NULL, process);

	assert_non_null(row);
	if (!container)
		assert_null(row->container);
	else if (!row->container || strcmp(row->container, container) != 0)
		fail_msg("%s is in %s", process, row->container ? row->container : "none");
}

static void each_process_has_its_own_row_of_a_function(void **state)
{
	static const char *const stacks[] = {"[7]a;main;f", "[8]b;main;f", "[7]a;f", "[8]b;main"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_int_equal(functions_count(blend.functions), 6);
	assert_row(&blend, "[7]a", "f", 1 + 4, 1 + 4);
	assert_row(&blend, "[8]b", "f", 2, 2);
	assert_row(&blend, "[7]a", "main", 0, 1);
	assert_row(&blend, "[8]b", "main", 8, 2 + 8);
	assert_row(&blend, NULL, "[7]a", 0, 1 + 4);
	assert_row(&blend, NULL, "[8]b", 0, 2 + 8);
}

static void a_process_is_its_number_and_its_name(void **state)
{
	static const char *const stacks[] = {"[7]a;f", "[7]b;f", "[17]a;f", "[7]a"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_row(&blend, NULL, "[7]a", 8, 1 + 8);
	assert_row(&blend, NULL, "[7]b", 0, 2);
	assert_row(&blend, NULL, "[17]a", 0, 4);
	assert_row(&blend, "[7]b", "f", 2, 2);
	assert_row(&blend, "[17]a", "f", 4, 4);
}

static void a_stack_counts_once_in_each_total_of_its_process(void **state)
{
	static const char *const stacks[] = {"[7]a;f",	   "[8]b;f;f",		 "[7]a;f;g;f",
					     "[8]b;f;g;h", "[7]a;f;g;f;g;h;f;f", "[8]b;g;g"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_row(&blend, "[7]a", "f", 1 + 4 + 16, 1 + 4 + 16);
	assert_row(&blend, "[8]b", "f", 2, 2 + 8);
	assert_row(&blend, "[7]a", "g", 0, 4 + 16);
	assert_row(&blend, "[8]b", "g", 32, 8 + 32);
	assert_row(&blend, "[7]a", "h", 0, 16);
	assert_row(&blend, NULL, "[7]a", 0, 1 + 4 + 16);
	assert_row(&blend, NULL, "[8]b", 0, 2 + 8 + 32);
}

static void functions_that_end_with_a_process_do_not_go_on_in_the_next(void **state)
{
	static const char *const stacks[] = {"[7]a;f;f;f;f;f", "[8]b;f", "f", "[9]c;g;f;h;f"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	for (int again = 1; again <= 3; again++) {
		assert_row(&blend, "[7]a", "f", again, again);
		assert_row(&blend, "[8]b", "f", 2 * again, 2 * again);
		assert_row(&blend, NULL, "f", 4 * again, 4 * again);
		assert_row(&blend, "[9]c", "f", 8 * again, 8 * again);
		blend_bits(&blend, stacks, ARRAY_SIZE(stacks));
	}
}

static void a_process_in_two_containers_is_one(void **state)
{
	static const char *const stacks[] = {"[Con]x;[7]a;f", "[Pod]p;[Con]y;[7]a;f", "[7]a;f"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_row(&blend, NULL, "[7]a", 0, 7);
	assert_row(&blend, "[7]a", "f", 7, 7);
	const struct function_row *row = find_owned(blend.functions, NULL, "[7]a");
	assert_non_null(row->container);
	assert_true(strcmp(row->container, "[Con]x") == 0 || strcmp(row->container, "[Con]y") == 0);
}

static void a_process_has_the_nearest_container_on_the_way_to_it(void **state)
{
	static const char *const stacks[] = {"[Con]x;[7]a;f", "[Pod]p;[Con]y;[8]a;f",
					     "[Pod]p;[9]a;f", "[10]a;f", "[Pod]p;[Con]x;[11]a;f"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_container(&blend, "[7]a", "[Con]x");
	assert_container(&blend, "[8]a", "[Con]y");
	assert_container(&blend, "[9]a", "[Pod]p");
	assert_container(&blend, "[10]a", NULL);
	assert_container(&blend, "[11]a", "[Con]x");
	for (size_t i = 0; i < functions_count(blend.functions); i++) {
		const struct function_row *row = functions_at(blend.functions, i);

		if (row->type <= FRAME_TYPE_CONTAINER)
			assert_true(row->total[0].sum == 0 && row->process == NO_PROCESS);
		else if (row->type != FRAME_TYPE_PROCESS)
			assert_null(row->container);
	}
}

/* Names are borrowed from the table, which grows. */
static void containers_keep_their_names_while_the_table_grows(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	for (int i = 0; i < 3000; i++) {
		char stack[96];

		snprintf(stack, sizeof(stack), "[Con]container-%d;[%d]process;function%d", i, i + 1,
			 i);
		add_stack(tree, stack, (uint64_t)i + 1, 0);
	}
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	_cleanup_blend_ struct blend blend = new_process_blend();
	assert_int_equal(blend_window(&blend, &window), 0);
	assert_int_equal(functions_count(blend.functions), 9000);
	for (int i = 0; i < 3000; i += 37) {
		char process[32], container[32], function[32];

		snprintf(process, sizeof(process), "[%d]process", i + 1);
		snprintf(container, sizeof(container), "[Con]container-%d", i);
		snprintf(function, sizeof(function), "function%d", i);
		assert_container(&blend, process, container);
		assert_row(&blend, process, function, i + 1, i + 1);
	}
}

static void threads_and_remarks_are_no_functions_and_their_process_goes_on(void **state)
{
	static const char *const stacks[] = {"[7]a;~t;f", "[7]a;~u;f", "[8]b;~t;[truncated];f",
					     "[8]b;~t"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_int_equal(functions_count(blend.functions), 4);
	assert_row(&blend, "[7]a", "f", 3, 3);
	assert_row(&blend, "[8]b", "f", 4, 4);
	assert_row(&blend, NULL, "[8]b", 0, 12);
}

static void stacks_without_a_process_are_nobodys(void **state)
{
	static const char *const stacks[] = {"f",	  "~t;f;g",    "[Con]x;f", "[7]a;f",
					     "[rest];f ", "[Pod]p;~t", "[7]a;g",   "g"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_row(&blend, NULL, "f", 1 + 4, 1 + 2 + 4);
	assert_row(&blend, NULL, "g", 2 + 128, 2 + 128);
	assert_row(&blend, "[7]a", "f", 8, 8);
	assert_row(&blend, "[7]a", "g", 64, 64);
	assert_row(&blend, NULL, "[7]a", 0, 8 + 64);
}

/* One frame of the record, under many processes in turn and under none. */
static void a_frame_is_always_its_own_process(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	for (int i = 0; i < 200; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "[%d]a;main;f;g%d;f", 100 + i % 50, i / 50);
		add_stack(tree, stack, (uint64_t)i + 1, 0);
		snprintf(stack, sizeof(stack), "~t%d;main;f", i);
		add_stack(tree, stack, 1000, 0);
	}
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	_cleanup_blend_ struct blend blend = new_process_blend();
	assert_int_equal(blend_window(&blend, &window), 0);
	for (int i = 0; i < 50; i++) {
		char process[16];
		double weight = 4 * (i + 1) + 50 * (1 + 2 + 3);

		snprintf(process, sizeof(process), "[%d]a", 100 + i);
		assert_row(&blend, NULL, process, 0, weight);
		assert_row(&blend, process, "main", 0, weight);
		assert_row(&blend, process, "f", weight, weight);
		assert_row(&blend, process, "g2", 0, i + 1 + 100);
	}
	assert_row(&blend, NULL, "f", 200000, 200000);
}

static void one_sides_processes_are_those_of_the_other(void **state)
{
	static const char *const first[] = {"[7]a;f", "[8]b;f"}, *const second[] = {"[8]b;f", "f"};
	_cleanup_blend_ struct blend before = blend_stacks(first, 2);
	struct blend after = {
		.functions = before.functions, .side = HISTORY_AFTER, .by_process = true};

	(void)state;
	blend_bits(&after, second, 2);
	assert_int_equal(functions_count(before.functions), 5);
	assert_row(&before, "[8]b", "f", 2, 2);
	assert_row(&after, "[8]b", "f", 1, 1);
	assert_row(&before, NULL, "[7]a", 0, 1);
	assert_row(&after, NULL, "[7]a", 0, 0);
	assert_row(&before, NULL, "f", 0, 0);
	assert_row(&after, NULL, "f", 2, 2);
}

static void a_filter_leaves_out_whole_processes(void **state)
{
	static const char *const stacks[] = {"[7]a;f", "[Con]x;[8]b;f", "[8]b;g", "[Con]x;[9]b;f"};
	_cleanup_blend_ struct blend blend = new_process_blend();

	(void)state;
	strcpy(blend.filter.container, "x");
	strcpy(blend.filter.comm, "b");
	blend_bits(&blend, stacks, ARRAY_SIZE(stacks));
	assert_int_equal(blend.weight, 2 + 8);
	assert_row(&blend, NULL, "[8]b", 0, 2);
	assert_row(&blend, "[8]b", "f", 2, 2);
	assert_row(&blend, NULL, "[9]b", 0, 8);
	assert_row(&blend, NULL, "[7]a", 0, 0);
}

static void a_container_that_is_not_written_as_one_is_none(void **state)
{
	static const char *const names[] = {"", "x", "[Con", "[Con]"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_tree_ struct tree *tree = new_tree();
		uint32_t pod = add_child(tree, TREE_ROOT, FRAME_TYPE_POD, "[Pod]p");
		uint32_t container = add_child(tree, pod, FRAME_TYPE_CONTAINER, names[i]);

		tree_add(tree, add_child(tree, container, FRAME_TYPE_PROCESS, "[7]a"), 5);
		_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
		_cleanup_blend_ struct blend blend = new_process_blend();
		assert_int_equal(blend_window(&blend, &window), 0);
		assert_container(&blend, "[7]a", strlen(names[i]) < 5 ? "[Pod]p" : "[Con]");
		assert_row(&blend, NULL, "[7]a", 5, 5);
	}
}

static void a_process_below_a_process_is_its_own(void **state)
{
	static const char *const stacks[] = {"[7]a;f;[8]b;f", "[7]a;[8]b;g", "[7]a;f", "[8]b;f",
					     "[7]a;[7]a;f"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_row(&blend, NULL, "[8]b", 0, 1 + 2 + 8);
	assert_row(&blend, "[8]b", "f", 1 + 8, 1 + 8);
	assert_row(&blend, NULL, "[7]a", 0, 1 + 2 + 4 + 16);
	assert_row(&blend, "[7]a", "f", 4 + 16, 1 + 4 + 16);
}

/* ---- the same in another way ---- */

#define STACKS	     60
#define STACK_FRAMES 6
#define NAMES	     5
#define PIDS	     4 /* 0: none */

struct random_stack {
	int frames[STACK_FRAMES], depth, pid;
	uint64_t weight;
};

static void make_random_stacks(struct random_stack stacks[STACKS], uint64_t *random)
{
	for (int i = 0; i < STACKS; i++) {
		struct random_stack *stack = &stacks[i];

		stack->depth = 1 + (int)(random_next(random) % STACK_FRAMES);
		stack->pid = (int)(random_next(random) % PIDS);
		stack->weight = random_next(random) % 100;
		for (int k = 0; k < stack->depth; k++)
			stack->frames[k] = (int)(random_next(random) % NAMES);
	}
}

static struct tree *tree_of_stacks(const struct random_stack stacks[STACKS])
{
	struct tree *tree = new_tree();

	for (int i = 0; i < STACKS; i++) {
		const struct random_stack *stack = &stacks[i];
		char text[128];
		int len = snprintf(text, sizeof(text), stack->pid ? "[%d]app" : "~thread%d",
				   stack->pid);

		for (int k = 0; k < stack->depth; k++)
			len += snprintf(text + len, sizeof(text) - (size_t)len, ";f%d",
					stack->frames[k]);
		add_stack(tree, text, stack->weight, 0);
	}
	return tree;
}

static void assert_function(const struct random_stack stacks[STACKS], const struct blend *blend,
			    int pid, int function)
{
	double self = 0, total = 0;
	char name[16], process[16];

	for (int i = 0; i < STACKS; i++) {
		const struct random_stack *stack = &stacks[i];
		bool has = false;

		for (int k = 0; k < stack->depth; k++)
			has |= stack->frames[k] == function;
		if (stack->pid != pid)
			continue;
		self += stack->frames[stack->depth - 1] == function ? (double)stack->weight : 0;
		total += has ? (double)stack->weight : 0;
	}
	snprintf(name, sizeof(name), "f%d", function);
	snprintf(process, sizeof(process), "[%d]app", pid);
	if (self != 0 || total != 0)
		assert_row(blend, pid ? process : NULL, name, self, total);
}

static void random_stacks_add_up_as_one_by_one(void **state)
{
	uint64_t random = 21;

	(void)state;
	for (int turn = 0; turn < 200; turn++) {
		struct random_stack stacks[STACKS];

		make_random_stacks(stacks, &random);
		_cleanup_tree_ struct tree *tree = tree_of_stacks(stacks);
		_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
		_cleanup_blend_ struct blend blend = new_process_blend();
		assert_int_equal(blend_window(&blend, &window), 0);
		for (int pid = 0; pid < PIDS; pid++) {
			for (int function = 0; function < NAMES; function++)
				assert_function(stacks, &blend, pid, function);
		}
	}
}

/* Sums over all owners of a function. */
static void add_up(const struct functions *functions, enum frame_type type, const char *name,
		   double *self, double *total)
{
	*self = *total = 0;
	for (size_t i = 0; i < functions_count(functions); i++) {
		const struct function_row *row = functions_at(functions, i);

		if (row->type != type || (name && strcmp(row->name, name) != 0))
			continue;
		*self += row->self[0].sum;
		*total += row->total[0].sum;
	}
}

static void the_processes_are_all_and_their_functions_are_the_functions(void **state)
{
	uint64_t random = 22;
	double self, total;

	(void)state;
	for (int turn = 0; turn < 50; turn++) {
		struct random_stack stacks[STACKS];

		make_random_stacks(stacks, &random);
		for (int i = 0; i < STACKS; i++)
			stacks[i].pid = 1 + stacks[i].pid;
		_cleanup_tree_ struct tree *tree = tree_of_stacks(stacks);
		_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
		_cleanup_blend_ struct blend blend = new_process_blend(), whole = new_blend();
		assert_int_equal(blend_window(&blend, &window), 0);
		assert_int_equal(blend_window(&whole, &window), 0);
		add_up(blend.functions, FRAME_TYPE_PROCESS, NULL, &self, &total);
		assert_true(self == 0 && total == (double)blend.weight);
		for (size_t i = 0; i < functions_count(whole.functions); i++) {
			const struct function_row *row = functions_at(whole.functions, i);

			add_up(blend.functions, row->type, row->name, &self, &total);
			assert_true(self == row->self[0].sum && total == row->total[0].sum);
		}
		assert_true(blend.squares == whole.squares && blend.length == whole.length);
		assert_same_trees(blend.tree, whole.tree);
	}
}

static void what_is_not_told_by_process_has_no_processes(void **state)
{
	static const char *const stacks[] = {"[Con]x;[7]a;f", "[Pod]p;[8]b;f", "[8]b", "f"};
	_cleanup_blend_ struct blend blend = new_blend();

	(void)state;
	blend_bits(&blend, stacks, ARRAY_SIZE(stacks));
	assert_int_equal(functions_count(blend.functions), 1);
	const struct function_row *row = functions_at(blend.functions, 0);
	assert_true(row->process == NO_PROCESS && !row->container);
	assert_true(row->self[0].sum == 1 + 2 + 8 && row->total[0].sum == 1 + 2 + 8);
}

/* ---- records of several ---- */

/* Adds random windows to `alone`, and packs them as one record. */
static struct made_window pack_several(struct blend *alone, uint64_t *random, int count)
{
	_cleanup_blend_ struct blend several = new_blend();
	struct made_window packed = {.payload = BUF_INIT(2 * HISTORY_PAYLOAD_MAX)};

	for (int i = 0; i < count; i++) {
		struct random_stack stacks[STACKS];

		make_random_stacks(stacks, random);
		_cleanup_tree_ struct tree *tree = tree_of_stacks(stacks);
		_cleanup_window_ struct made_window window =
			window_of(tree, BEGIN + i * LENGTH, LENGTH);
		assert_int_equal(blend_window(&several, &window), 0);
		assert_int_equal(blend_window(alone, &window), 0);
	}
	packed.head = several.sum;
	assert_int_equal(blend_pack(&several, 100000, &packed.head, &packed.payload), 0);
	return packed;
}

static void a_record_of_several_is_one_window(void **state)
{
	uint64_t random = 23;
	_cleanup_blend_ struct blend alone = new_process_blend(), together = new_process_blend();
	_cleanup_window_ struct made_window packed = pack_several(&alone, &random, 10);

	(void)state;
	assert_int_equal(blend_window(&together, &packed), 0);
	assert_same_trees(alone.tree, together.tree);
	assert_true(together.weight == alone.weight);
	assert_true(fabs(alone.squares - 10 * 900) < 1e-6);
	assert_true(fabs(together.squares - together.length * together.length) < 1e-6);
	assert_int_equal(functions_count(alone.functions), functions_count(together.functions));
	for (size_t i = 0; i < functions_count(together.functions); i++) {
		const struct function_row *row = functions_at(together.functions, i);
		const struct function_row *process =
			row->process == NO_PROCESS ? NULL
						   : functions_at(together.functions, row->process);
		char written[64];

		snprintf(written, sizeof(written), "%s", row->name);
		assert_row(&alone, process ? process->name : NULL, written, row->self[0].sum,
			   row->total[0].sum);
		assert_true(fabs(row->total[0].squares -
				 row->total[0].sum * row->total[0].sum / together.length) <=
			    1e-9 * row->total[0].squares);
	}
}

/* ---- where there are too many ---- */

#define ROWS_MAX       400000
#define OF_PROCESS_MAX 200000

static int64_t find_number(struct functions *functions, uint32_t process, int number)
{
	char name[16];
	int len = snprintf(name, sizeof(name), "f%d", number);

	return functions_find(functions, process,
			      process == NO_PROCESS ? FRAME_TYPE_PROCESS : FRAME_TYPE_NATIVE, name,
			      (size_t)len);
}

static void functions_of_processes_have_a_bound_and_processes_another_one(void **state)
{
	struct functions *functions;

	(void)state;
	assert_int_equal(functions_new(&functions), 0);
	assert_int_equal(find_number(functions, NO_PROCESS, 0), 0);
	for (int i = 1; i < OF_PROCESS_MAX; i++)
		assert_int_equal(find_number(functions, 0, i), i);
	assert_int_equal(find_number(functions, 0, OF_PROCESS_MAX), -ENOSPC);
	assert_int_equal(find_number(functions, 1, 1), -ENOSPC);
	for (int i = OF_PROCESS_MAX; i < ROWS_MAX; i++)
		assert_int_equal(find_number(functions, NO_PROCESS, i), i);
	assert_int_equal(find_number(functions, NO_PROCESS, ROWS_MAX), -ENOSPC);
	assert_int_equal(functions_count(functions), ROWS_MAX);
	/* What is known is still found. */
	for (int i = 1; i < OF_PROCESS_MAX; i += 997)
		assert_int_equal(find_number(functions, 0, i), i);
	for (int i = OF_PROCESS_MAX; i < ROWS_MAX; i += 997)
		assert_int_equal(find_number(functions, NO_PROCESS, i), i);
	assert_int_equal(find_number(functions, 0, OF_PROCESS_MAX - 1), OF_PROCESS_MAX - 1);
	assert_int_equal(find_number(functions, NO_PROCESS, ROWS_MAX - 1), ROWS_MAX - 1);
	assert_string_equal(functions_at(functions, 7)->name, "f7");
	functions_free(functions);
}

/* However long the functions' names are, processes and what is known are found. */
static void long_names_leave_room_for_processes(void **state)
{
	static char name[65536];
	struct functions *functions;
	int count = 0;

	(void)state;
	memset(name, 'n', sizeof(name));
	assert_int_equal(functions_new(&functions), 0);
	assert_int_equal(find_number(functions, NO_PROCESS, 0), 0);
	for (int64_t number = 0; number >= 0; count++) {
		memcpy(name, &count, sizeof(count));
		number = functions_find(functions, 0, FRAME_TYPE_NATIVE, name, sizeof(name));
		assert_true(number == count + 1 || number == -ENOSPC);
	}
	count = 0;
	memcpy(name, &count, sizeof(count));
	assert_int_equal(functions_find(functions, 0, FRAME_TYPE_NATIVE, name, sizeof(name)), 1);
	int next = (int)functions_count(functions);
	for (int i = next; i < ROWS_MAX; i++)
		assert_int_equal(find_number(functions, NO_PROCESS, i), i);
	functions_free(functions);
}

/* Blends windows of both sides, ten each, and compares them. The last stack is lately alone. */
static struct history_anomalies compare_sides(struct blend *before, const char *const stacks[],
					      size_t count)
{
	struct blend after = {
		.functions = before->functions, .side = HISTORY_AFTER, .by_process = true};
	struct history_span spans[HISTORY_SIDES];
	struct history_anomalies found;

	for (int i = 0; i < 10; i++) {
		blend_bits(before, stacks, count - 1);
		blend_bits(&after, stacks, count);
	}
	spans[HISTORY_BEFORE] =
		(struct history_span){.length = before->length, .squares = before->squares};
	spans[HISTORY_AFTER] =
		(struct history_span){.length = after.length, .squares = after.squares};
	assert_int_equal(history_anomalies_make(before->functions, spans, &found), 0);
	return found;
}

static void what_found_no_room_is_counted_and_the_rest_is_right(void **state)
{
	static const char *const stacks[] = {"[7]a;f0;f1", "[7]a;new;f1", "[8]b;f1",
					     "[8]b",	   "[9]c;g;h",	  "[9]c;g;h"};
	_cleanup_blend_ struct blend blend = new_process_blend();

	(void)state;
	assert_int_equal(functions_find(blend.functions, NO_PROCESS, FRAME_TYPE_PROCESS, "[7]a", 4),
			 0);
	for (int i = 1; i < OF_PROCESS_MAX; i++)
		assert_int_equal(find_number(blend.functions, 0, i - 1), i);
	assert_int_equal(functions_refused(blend.functions), 0);
	struct history_anomalies found = compare_sides(&blend, stacks, ARRAY_SIZE(stacks));
	/* In each of 20 windows: new, f1 of [8]b, g and h. */
	assert_int_equal(found.refused, 20 * 4);
	assert_int_equal(functions_refused(blend.functions), found.refused);
	assert_int_equal(functions_count(blend.functions), OF_PROCESS_MAX + 2);
	assert_row(&blend, NULL, "[7]a", 0, 10 * (1 + 2));
	assert_row(&blend, "[7]a", "f1", 10 * (1 + 2), 10 * (1 + 2));
	assert_row(&blend, "[7]a", "f0", 0, 10);
	assert_row(&blend, NULL, "[8]b", 10 * 8, 10 * (4 + 8));
	assert_row(&blend, NULL, "[9]c", 0, 10 * 16);
	assert_null(find_owned(blend.functions, "[8]b", "f1"));
	assert_int_equal(found.processes, 3);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.anomalies[0].name, "[9]c");
	assert_int_equal(found.anomalies[0].changes_count, 0);
	assert_true(found.anomalies[0].rate.is_change);
	history_anomalies_done(&found);
}

/* ---- damage ---- */

/* Whatever a table has become, an answer is made of it. */
static void compare_whatever(const struct functions *functions)
{
	static const struct history_span spans[HISTORY_SIDES] = {
		{.length = 300, .squares = 9000, .noise = 1},
		{.length = 300, .squares = 9000, .noise = 1}};
	struct history_anomalies found;

	assert_int_equal(history_anomalies_make(functions, spans, &found), 0);
	history_anomalies_done(&found);
}

/* Any bytes that a check sum hasn't caught: an error, or other figures. */
static void any_byte_of_a_payload_may_be_another(void **state)
{
	uint64_t random = 25;
	_cleanup_blend_ struct blend alone = new_process_blend();
	_cleanup_window_ struct made_window packed = pack_several(&alone, &random, 3);
	struct history_payload payload;

	(void)state;
	assert_int_equal(history_unpack(&payload, &packed.head, packed.payload.data), 0);
	for (size_t at = 0; at < payload.raw.len; at++) {
		char was = payload.raw.data[at];

		for (int other = 1; other < 256; other = other * 2 + 1) {
			struct history_payload again = payload;
			_cleanup_blend_ struct blend blend = new_process_blend();

			payload.raw.data[at] = (char)(was ^ (char)other);
			int r = blend_add(&blend, &packed.head, &again);
			assert_true(r == 0 || r == -EBADMSG);
			compare_whatever(blend.functions);
		}
		payload.raw.data[at] = was;
	}
	history_payload_done(&payload);
}

/* A window of these stacks, and its columns. */
struct open_window {
	struct made_window window;
	struct history_payload payload;
};

static struct open_window open_window(const char *const stacks[], size_t count, uint64_t weight)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct open_window open;

	for (size_t i = 0; i < count; i++)
		add_stack(tree, stacks[i], weight * (i + 1), 0);
	open.window = window_of(tree, BEGIN, LENGTH);
	assert_int_equal(history_unpack(&open.payload, &open.window.head, open.window.payload.data),
			 0);
	return open;
}

static void open_window_done(struct open_window *open)
{
	history_payload_done(&open->payload);
	window_done(&open->window);
}

/* Adds the window ten times; those frames that have a bit are processes in it. */
static void blend_disguised(struct blend *blend, struct open_window *open, size_t bits)
{
	struct frames_slice *kinds = &open->payload.columns[FRAMES_COLUMN_kinds];
	char *bytes = open->payload.raw.data + (kinds->bytes - open->payload.raw.data), was[16];

	assert_true(kinds->len <= sizeof(was));
	memcpy(was, bytes, kinds->len);
	for (size_t i = 0; i < kinds->len; i++)
		bytes[i] = bits & 1u << i ? FRAME_TYPE_PROCESS : bytes[i];
	for (int i = 0; i < 10; i++) {
		struct history_payload again = open->payload;

		assert_int_equal(blend_add(blend, &open->window.head, &again), 0);
	}
	memcpy(bytes, was, kinds->len);
}

/* Any of a record's frames become processes, wherever they stand. */
static void any_frame_may_be_a_process(void **state)
{
	static const char *const stacks[] = {"[Con]x;[7]a;~t;f;g;f", "[8]b;g;f;h", "f;g",
					     "[Con]x;[7]a;~t;h", "[Con]x;[7]a;~t;i;g"};
	struct open_window before = open_window(stacks, ARRAY_SIZE(stacks), 1000);
	struct open_window after = open_window(stacks, ARRAY_SIZE(stacks), 5000);
	size_t frames = before.payload.columns[FRAMES_COLUMN_kinds].len;

	(void)state;
	for (size_t bits = 0; bits < 1u << frames; bits++) {
		_cleanup_blend_ struct blend blend = new_process_blend();
		struct blend lately = {
			.functions = blend.functions, .side = HISTORY_AFTER, .by_process = true};

		blend_disguised(&blend, &before, bits);
		blend_disguised(&lately, &after, bits);
		compare_whatever(blend.functions);
	}
	open_window_done(&before);
	open_window_done(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_process_has_its_own_row_of_a_function),
		cmocka_unit_test(a_process_is_its_number_and_its_name),
		cmocka_unit_test(a_stack_counts_once_in_each_total_of_its_process),
		cmocka_unit_test(functions_that_end_with_a_process_do_not_go_on_in_the_next),
		cmocka_unit_test(a_process_in_two_containers_is_one),
		cmocka_unit_test(a_process_has_the_nearest_container_on_the_way_to_it),
		cmocka_unit_test(containers_keep_their_names_while_the_table_grows),
		cmocka_unit_test(threads_and_remarks_are_no_functions_and_their_process_goes_on),
		cmocka_unit_test(stacks_without_a_process_are_nobodys),
		cmocka_unit_test(a_frame_is_always_its_own_process),
		cmocka_unit_test(one_sides_processes_are_those_of_the_other),
		cmocka_unit_test(a_filter_leaves_out_whole_processes),
		cmocka_unit_test(a_container_that_is_not_written_as_one_is_none),
		cmocka_unit_test(a_process_below_a_process_is_its_own),
		cmocka_unit_test(random_stacks_add_up_as_one_by_one),
		cmocka_unit_test(the_processes_are_all_and_their_functions_are_the_functions),
		cmocka_unit_test(what_is_not_told_by_process_has_no_processes),
		cmocka_unit_test(a_record_of_several_is_one_window),
		cmocka_unit_test(functions_of_processes_have_a_bound_and_processes_another_one),
		cmocka_unit_test(long_names_leave_room_for_processes),
		cmocka_unit_test(what_found_no_room_is_counted_and_the_rest_is_right),
		cmocka_unit_test(any_byte_of_a_payload_may_be_another),
		cmocka_unit_test(any_frame_may_be_a_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
