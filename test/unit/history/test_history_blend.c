// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_blend: records into one tree, and into sums and variances of functions. */
#include "unit/history/history_scene.h"

#define LENGTH (30 * SECOND)

/* Two pods, three containers, processes in them and beside them, threads. */
static struct tree *tree_of_many(void)
{
	struct tree *tree = new_tree();

	add_stack(tree, "[Pod]web;[Con]nginx;[12]nginx;~worker;main;poll_[k]", 1, 10);
	add_stack(tree, "[Pod]web;[Con]nginx;[12]nginx;~worker;main;serve", 2, 20);
	add_stack(tree, "[Pod]web;[Con]side;[13]proxy;~worker;main;serve", 4, 40);
	add_stack(tree, "[Pod]db;[Con]pg;[120]postgres;~postgres;main;scan", 8, 80);
	add_stack(tree, "[Con]web;[14]nginx;~nginx;main;serve", 16, 160);
	add_stack(tree, "[1]systemd;~systemd;main;scan", 32, 320);
	add_stack(tree, "[112]nginx;~worker;[truncated];serve", 64, 640);
	return tree;
}

static struct blend blend_filtered(const struct history_filter *filter)
{
	_cleanup_tree_ struct tree *tree = tree_of_many();
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	struct blend blend = new_blend();

	blend.filter = *filter;
	assert_int_equal(blend_window(&blend, &window), 0);
	assert_same_heads(&blend.sum, &window.head);
	assert_true(blend.weight == weight_of(blend.tree));
	assert_int_equal(blend.events, 10 * blend.weight);
	return blend;
}

/* The weight that a filter lets through: a bit for each stack. */
static void assert_takes(const struct history_filter *filter, uint64_t weight)
{
	_cleanup_blend_ struct blend blend = blend_filtered(filter);

	assert_int_equal(blend.weight, weight);
	assert_true(history_filter_chooses(filter));
}

#define FILTER(...) (&(struct history_filter){__VA_ARGS__})

static void no_filter_takes_everything(void **state)
{
	_cleanup_blend_ struct blend blend = blend_filtered(FILTER(0));
	_cleanup_tree_ struct tree *tree = tree_of_many();

	(void)state;
	assert_false(history_filter_chooses(FILTER(0)));
	assert_int_equal(blend.weight, 127);
	assert_same_trees(blend.tree, tree);
}

static void a_pid_is_the_whole_number(void **state)
{
	(void)state;
	assert_takes(FILTER(.pid = 12), 1 | 2);
	assert_takes(FILTER(.pid = 1), 32);
	assert_takes(FILTER(.pid = 120), 8);
	assert_takes(FILTER(.pid = 112), 64);
	assert_takes(FILTER(.pid = 2), 0);
}

static void a_comm_is_the_whole_name_of_the_process(void **state)
{
	(void)state;
	assert_takes(FILTER(.comm = "nginx"), 1 | 2 | 16 | 64);
	assert_takes(FILTER(.comm = "postgres"), 8);
	assert_takes(FILTER(.comm = "ngin"), 0);
	assert_takes(FILTER(.comm = "nginxx"), 0);
	assert_takes(FILTER(.comm = "main"), 0);
	assert_takes(FILTER(.comm = "[12]nginx"), 0);
}

static void a_container_is_one_or_a_pod(void **state)
{
	(void)state;
	assert_takes(FILTER(.container = "web"), 1 | 2 | 4 | 16);
	assert_takes(FILTER(.container = "nginx"), 1 | 2);
	assert_takes(FILTER(.container = "pg"), 8);
	assert_takes(FILTER(.container = "[Pod]web"), 0);
	assert_takes(FILTER(.container = "w"), 0);
}

static void a_thread_is_by_its_name(void **state)
{
	(void)state;
	assert_takes(FILTER(.thread = "worker"), 1 | 2 | 4 | 64);
	assert_takes(FILTER(.thread = "nginx"), 16);
	assert_takes(FILTER(.thread = "postgres"), 8);
	assert_takes(FILTER(.thread = "main"), 0);
}

static void all_of_a_filter_must_hold(void **state)
{
	(void)state;
	assert_takes(FILTER(.container = "web", .comm = "nginx"), 1 | 2 | 16);
	assert_takes(FILTER(.container = "web", .thread = "worker"), 1 | 2 | 4);
	assert_takes(FILTER(.container = "web", .comm = "nginx", .thread = "worker"), 1 | 2);
	assert_takes(FILTER(.pid = 12, .comm = "nginx", .container = "web", .thread = "worker"),
		     1 | 2);
	assert_takes(FILTER(.pid = 12, .comm = "proxy"), 0);
	assert_takes(FILTER(.pid = 14, .container = "nginx"), 0);
}

static void what_is_left_out_is_in_no_tree_and_no_sum(void **state)
{
	_cleanup_blend_ struct blend blend = blend_filtered(FILTER(.container = "web"));

	(void)state;
	assert_folded(blend.tree, "[Con]web;[14]nginx;nginx;main;serve 16\n"
				  "[Pod]web;[Con]nginx;[12]nginx;worker;main;poll_[k] 1\n"
				  "[Pod]web;[Con]nginx;[12]nginx;worker;main;serve 2\n"
				  "[Pod]web;[Con]side;[13]proxy;worker;main;serve 4\n");
	assert_weights(&blend, "main", 0, 23);
	assert_weights(&blend, "serve", 22, 22);
	assert_weights(&blend, "poll_[k]", 1, 1);
	const struct function_row *scan = find_function(blend.functions, "scan");
	assert_true(!scan || (scan->self[0].sum == 0 && scan->total[0].sum == 0));
}

static void a_process_may_have_brackets_in_its_name(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	add_stack(tree, "[7]a]b;main", 1, 0);
	add_stack(tree, "[8][x];main", 2, 0);
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	_cleanup_blend_ struct blend first = new_blend(), second = new_blend();
	strcpy(first.filter.comm, "a]b");
	strcpy(second.filter.comm, "[x]");
	assert_int_equal(blend_window(&first, &window), 0);
	assert_int_equal(blend_window(&second, &window), 0);
	assert_int_equal(first.weight, 1);
	assert_int_equal(second.weight, 2);
}

/* ---- functions ---- */

static struct blend blend_stacks(const char *const stacks[], size_t count)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct blend blend = new_blend();

	for (size_t i = 0; i < count; i++)
		add_stack(tree, stacks[i], UINT64_C(1) << i, 0);
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	assert_int_equal(blend_window(&blend, &window), 0);
	return blend;
}

static void a_stack_counts_once_in_a_functions_total(void **state)
{
	static const char *const stacks[] = {"[7]a;f", "[7]a;f;f", "[7]a;f;g;f", "[7]a;f;g;f;g;h",
					     "[7]a;g;h"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_weights(&blend, "f", 1 + 2 + 4, 1 + 2 + 4 + 8);
	assert_weights(&blend, "g", 0, 4 + 8 + 16);
	assert_weights(&blend, "h", 8 + 16, 8 + 16);
	assert_int_equal(functions_count(blend.functions), 3);
}

static void own_weights_of_all_places_are_added(void **state)
{
	static const char *const stacks[] = {"[7]a;f", "[8]b;~t;f", "[8]b;~t;g;f;h;f", "[8]b;~t;g"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_weights(&blend, "f", 1 + 2 + 4, 1 + 2 + 4);
	assert_weights(&blend, "g", 8, 4 + 8);
	assert_weights(&blend, "h", 0, 4);
}

static void a_function_is_a_name_and_a_kind(void **state)
{
	static const char *const stacks[] = {"[7]read;read;read_[k]", "~read;read_[j]",
					     "[Con]read;[read];read"};
	_cleanup_blend_ struct blend blend = blend_stacks(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_int_equal(functions_count(blend.functions), 3);
	assert_weights(&blend, "read", 4, 1 + 4);
	assert_weights(&blend, "read_[k]", 1, 1);
	assert_weights(&blend, "read_[j]", 2, 2);
}

static void lines_and_files_of_a_function_are_one(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	uint32_t f = add_python(tree, TREE_ROOT, "f", "a.py", 1);

	(void)state;
	tree_add(tree, f, 1);
	tree_add(tree, add_python(tree, TREE_ROOT, "f", "a.py", 2), 2);
	tree_add(tree, add_python(tree, f, "f", "b.py", 2), 4);
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	_cleanup_blend_ struct blend blend = new_blend();
	assert_int_equal(blend_window(&blend, &window), 0);
	assert_weights(&blend, "f_[p]", 7, 7);
	assert_same_trees(blend.tree, tree);
}

static void squares_are_of_each_window_through_its_length(void **state)
{
	static const int64_t lengths[] = {30, 30, 10};
	static const uint64_t weights[] = {60, 90, 10};
	_cleanup_blend_ struct blend blend = new_blend();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		_cleanup_tree_ struct tree *tree = new_tree();

		add_stack(tree, "[7]a;main;f", weights[i], 0);
		_cleanup_window_ struct made_window window =
			window_of(tree, BEGIN, lengths[i] * SECOND);
		assert_int_equal(blend_window(&blend, &window), 0);
	}
	const struct function_row *f = find_function(blend.functions, "f");
	const struct function_row *caller = find_function(blend.functions, "main");
	assert_true(fabs(f->self[0].squares - (120. + 270. + 10.)) < 1e-9);
	assert_true(fabs(f->total[0].squares - 400.) < 1e-9);
	assert_true(caller->self[0].squares == 0);
	assert_true(fabs(caller->total[0].squares - 400.) < 1e-9);
	assert_true(fabs(blend.length - 70.) < 1e-9);
	assert_true(fabs(blend.squares - (900. + 900. + 100.)) < 1e-6);
	assert_int_equal(blend.sum.windows, 3);
	assert_int_equal(blend.sum.processes, 1);
	assert_int_equal(blend.sum.lost, 3);
}

static void the_sides_are_added_up_apart(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	add_stack(tree, "[7]a;f", 5, 0);
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	_cleanup_blend_ struct blend before = new_blend();
	struct blend after = {.functions = before.functions, .side = HISTORY_AFTER};
	assert_int_equal(blend_window(&before, &window), 0);
	assert_int_equal(blend_window(&after, &window), 0);
	assert_int_equal(blend_window(&after, &window), 0);
	assert_weights(&before, "f", 5, 5);
	assert_weights(&after, "f", 10, 10);
	assert_int_equal(functions_count(before.functions), 1);
}

static void files_with_code_are_kept(void **state)
{
	struct module modules[] = {{.path = "/lib/x.so", .path_len = 9},
				   {.path = "/lib/y.so", .path_len = 9}};
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct frame frame = {.type = FRAME_TYPE_NATIVE,
				      .name = "f",
				      .name_len = 1,
				      .source = {"f.c", i / 2 ? 3 : 0, i / 2 ? 12 : 0},
				      .module = &modules[i % 2]};
		int64_t node = tree_child_with(tree, TREE_ROOT, &frame);

		assert_true(node > 0);
		tree_add(tree, (uint32_t)node, UINT64_C(1) << i);
	}
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	_cleanup_blend_ struct blend blend = new_blend();
	assert_int_equal(blend_window(&blend, &window), 0);
	assert_same_trees(blend.tree, tree);
	assert_weights(&blend, "f", 15, 15);
}

static void events_that_are_the_weights_are_kept(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	add_stack(tree, "[7]a;f", 3, 3);
	add_stack(tree, "[7]a;g", 500, 500);
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	_cleanup_blend_ struct blend blend = new_blend();
	assert_int_equal(blend_window(&blend, &window), 0);
	assert_same_trees(blend.tree, tree);
	assert_int_equal(blend.events, 503);
}

/* Adds a window of samples of a period, as a blend counts them. */
static struct blend blend_period(uint64_t of_window, uint64_t of_blend)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct blend blend = new_blend();

	add_stack(tree, "[7]a;f", 4, 4);
	add_stack(tree, "[7]a;f;g;f", 6, 6);
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	window.head.period_ns = of_window;
	blend.period_ns = of_blend;
	assert_int_equal(blend_window(&blend, &window), 0);
	assert_int_equal(blend.weight, weight_of(blend.tree));
	assert_int_equal(blend.sum.weight, blend.weight);
	assert_int_equal(blend.sum.samples, 10);
	return blend;
}

static void samples_of_a_longer_period_count_as_so_many_more(void **state)
{
	_cleanup_blend_ struct blend as_is = blend_period(10000000, 0);
	_cleanup_blend_ struct blend equal = blend_period(10000000, 10000000);
	_cleanup_blend_ struct blend twice = blend_period(10000000, 5000000);
	_cleanup_blend_ struct blend none = blend_period(0, 5000000);

	(void)state;
	assert_weights(&as_is, "f", 10, 10);
	assert_same_trees(as_is.tree, equal.tree);
	assert_same_trees(as_is.tree, none.tree);
	assert_weights(&twice, "f", 20, 20);
	assert_weights(&twice, "g", 0, 12);
	assert_folded(twice.tree, "[7]a;f 8\n[7]a;f;g;f 12\n");
	assert_int_equal(twice.events, 20);
	assert_int_equal(twice.sum.period_ns, 5000000);
	assert_int_equal(as_is.sum.period_ns, 10000000);
}

/* ---- the same in another way ---- */

#define STACKS	     60
#define STACK_FRAMES 6
#define NAMES	     7

struct random_stack {
	int frames[STACK_FRAMES], depth, pid;
	uint64_t weight;
};

static void make_random_stacks(struct random_stack stacks[STACKS], uint64_t *random)
{
	for (int i = 0; i < STACKS; i++) {
		struct random_stack *stack = &stacks[i];

		stack->depth = 1 + (int)(random_next(random) % STACK_FRAMES);
		stack->pid = 1 + (int)(random_next(random) % 3);
		stack->weight = random_next(random) % 100;
		for (int k = 0; k < stack->depth; k++)
			stack->frames[k] = (int)(random_next(random) % NAMES);
	}
}

static struct tree *tree_of_stacks(const struct random_stack stacks[STACKS])
{
	struct tree *tree = new_tree();

	for (int i = 0; i < STACKS; i++) {
		char text[128];
		int len = snprintf(text, sizeof(text), "[%d]app", stacks[i].pid);

		for (int k = 0; k < stacks[i].depth; k++)
			len += snprintf(text + len, sizeof(text) - (size_t)len, ";f%d",
					stacks[i].frames[k]);
		add_stack(tree, text, stacks[i].weight, 0);
	}
	return tree;
}

static void assert_function(const struct random_stack stacks[STACKS], const struct blend *blend,
			    int function)
{
	double self = 0, total = 0;
	char name[16];

	for (int i = 0; i < STACKS; i++) {
		const struct random_stack *stack = &stacks[i];
		bool has = false;

		if (blend->filter.pid && blend->filter.pid != stack->pid)
			continue;
		for (int k = 0; k < stack->depth; k++)
			has |= stack->frames[k] == function;
		self += stack->frames[stack->depth - 1] == function ? (double)stack->weight : 0;
		total += has ? (double)stack->weight : 0;
	}
	snprintf(name, sizeof(name), "f%d", function);
	if (self != 0 || total != 0 || find_function(blend->functions, name))
		assert_weights(blend, name, self, total);
}

static void random_stacks_add_up_as_one_by_one(void **state)
{
	uint64_t random = 11;

	(void)state;
	for (int turn = 0; turn < 200; turn++) {
		struct random_stack stacks[STACKS];

		make_random_stacks(stacks, &random);
		_cleanup_tree_ struct tree *tree = tree_of_stacks(stacks);
		_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
		_cleanup_blend_ struct blend blend = new_blend();
		blend.filter.pid = turn % 4;
		assert_int_equal(blend_window(&blend, &window), 0);
		for (int function = 0; function < NAMES; function++)
			assert_function(stacks, &blend, function);
	}
}

/* ---- records of several ---- */

/* Adds random windows to `alone`, and packs them as one record. */
static struct made_window pack_several(struct blend *alone, uint64_t *random, int count,
				       size_t max_nodes)
{
	_cleanup_blend_ struct blend several = new_blend();
	struct made_window packed = {.payload = BUF_INIT(2 * HISTORY_PAYLOAD_MAX)};

	for (int i = 0; i < count; i++) {
		struct random_stack stacks[STACKS];

		make_random_stacks(stacks, random);
		_cleanup_tree_ struct tree *tree = tree_of_stacks(stacks);
		_cleanup_window_ struct made_window window =
			window_of(tree, BEGIN + i * LENGTH,
				  (1 + (int64_t)(random_next(random) % 30)) * SECOND);
		window.head.first = window.head.last = (uint64_t)i;
		assert_int_equal(blend_window(&several, &window), 0);
		assert_int_equal(blend_window(alone, &window), 0);
	}
	packed.head = several.sum;
	assert_int_equal(blend_pack(&several, max_nodes, &packed.head, &packed.payload), 0);
	return packed;
}

static void a_record_of_several_has_what_its_windows_have(void **state)
{
	uint64_t random = 12;

	(void)state;
	for (int turn = 0; turn < 30; turn++) {
		_cleanup_blend_ struct blend alone = new_blend(), together = new_blend();
		_cleanup_window_ struct made_window first =
			pack_several(&alone, &random, 1 + turn % 10, 100000);
		_cleanup_window_ struct made_window second =
			pack_several(&alone, &random, 1 + turn % 3, 100000);

		assert_int_equal(blend_window(&together, &first), 0);
		assert_int_equal(blend_window(&together, &second), 0);
		assert_same_trees(alone.tree, together.tree);
		assert_same_functions(&alone, &together);
		assert_same_heads(&alone.sum, &together.sum);
		assert_true(alone.weight == together.weight && alone.events == together.events);
		assert_true(fabs(alone.length - together.length) < 1e-6);
		assert_true(fabs(alone.squares - together.squares) < 1e-3);
	}
}

static void a_record_of_few_nodes_has_the_whole_weight(void **state)
{
	uint64_t random = 13;
	_cleanup_blend_ struct blend alone = new_blend(), together = new_blend();
	_cleanup_window_ struct made_window packed = pack_several(&alone, &random, 10, 20);

	(void)state;
	assert_int_equal(blend_window(&together, &packed), 0);
	assert_true(tree_count(together.tree) <= 20);
	assert_true(weight_of(together.tree) == weight_of(alone.tree));
	assert_true(together.weight == alone.weight);
}

static void where_a_filter_chooses_a_record_of_several_is_one_window(void **state)
{
	uint64_t random = 14;
	_cleanup_blend_ struct blend alone = new_blend(), together = new_blend();

	(void)state;
	alone.filter.pid = together.filter.pid = 2;
	_cleanup_window_ struct made_window packed = pack_several(&alone, &random, 10, 100000);
	assert_int_equal(blend_window(&together, &packed), 0);
	assert_same_trees(alone.tree, together.tree);
	assert_true(together.weight == alone.weight);
	assert_true(fabs(together.squares - together.length * together.length) < 1e-6);
	for (size_t i = 0; i < functions_count(together.functions); i++) {
		const struct function_weight *total = functions_at(together.functions, i)->total;

		assert_true(fabs(total->squares - total->sum * total->sum / together.length) <=
			    1e-9 * total->squares);
	}
}

/* ---- damage ---- */

/* Adds a window whose column of depths was changed at a byte. Returns what blend_add() returns. */
static int blend_harmed(struct blend *blend, const struct made_window *window, size_t at)
{
	struct history_payload payload;

	assert_int_equal(history_unpack(&payload, &window->head, window->payload.data), 0);
	struct frames_slice *depths = &payload.columns[FRAMES_COLUMN_depth];
	assert_true(at < depths->len);
	payload.raw.data[depths->bytes - payload.raw.data + (ptrdiff_t)at] = 77;
	int r = blend_add(blend, &window->head, &payload);
	history_payload_done(&payload);
	return r;
}

static void after_a_damaged_record_the_next_ones_are_added_rightly(void **state)
{
	static const char *const stacks[] = {"[7]a;f;g;f;h", "[7]a;f;h", "[7]a;f;g;g"};
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		add_stack(tree, stacks[i], UINT64_C(1) << i, 0);
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, LENGTH);
	for (size_t at = 0; at < tree_count(tree); at++) {
		_cleanup_blend_ struct blend blend = new_blend();

		assert_int_equal(blend_harmed(&blend, &window, at), -EBADMSG);
		const struct function_row *f = find_function(blend.functions, "f");
		double was = f ? f->total[0].sum : 0;
		assert_int_equal(blend_window(&blend, &window), 0);
		f = find_function(blend.functions, "f");
		assert_non_null(f);
		assert_true(f->total[0].sum - was == 7);
	}
}

/* Any bytes that a check sum hasn't caught: an error, or other figures. */
static void any_byte_of_a_payload_may_be_another(void **state)
{
	uint64_t random = 15;
	_cleanup_blend_ struct blend alone = new_blend();
	_cleanup_window_ struct made_window packed = pack_several(&alone, &random, 3, 40);
	struct history_payload payload;

	(void)state;
	assert_int_equal(history_unpack(&payload, &packed.head, packed.payload.data), 0);
	for (size_t at = 0; at < payload.raw.len; at++) {
		char was = payload.raw.data[at];

		for (int other = 1; other < 256; other = other * 2 + 1) {
			struct history_payload again = payload;
			_cleanup_blend_ struct blend blend = new_blend();

			payload.raw.data[at] = (char)(was ^ (char)other);
			int r = blend_add(&blend, &packed.head, &again);
			assert_true(r == 0 || r == -EBADMSG);
		}
		payload.raw.data[at] = was;
	}
	history_payload_done(&payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_filter_takes_everything),
		cmocka_unit_test(a_pid_is_the_whole_number),
		cmocka_unit_test(a_comm_is_the_whole_name_of_the_process),
		cmocka_unit_test(a_container_is_one_or_a_pod),
		cmocka_unit_test(a_thread_is_by_its_name),
		cmocka_unit_test(all_of_a_filter_must_hold),
		cmocka_unit_test(what_is_left_out_is_in_no_tree_and_no_sum),
		cmocka_unit_test(a_process_may_have_brackets_in_its_name),
		cmocka_unit_test(a_stack_counts_once_in_a_functions_total),
		cmocka_unit_test(own_weights_of_all_places_are_added),
		cmocka_unit_test(a_function_is_a_name_and_a_kind),
		cmocka_unit_test(lines_and_files_of_a_function_are_one),
		cmocka_unit_test(squares_are_of_each_window_through_its_length),
		cmocka_unit_test(the_sides_are_added_up_apart),
		cmocka_unit_test(files_with_code_are_kept),
		cmocka_unit_test(events_that_are_the_weights_are_kept),
		cmocka_unit_test(samples_of_a_longer_period_count_as_so_many_more),
		cmocka_unit_test(random_stacks_add_up_as_one_by_one),
		cmocka_unit_test(a_record_of_several_has_what_its_windows_have),
		cmocka_unit_test(a_record_of_few_nodes_has_the_whole_weight),
		cmocka_unit_test(where_a_filter_chooses_a_record_of_several_is_one_window),
		cmocka_unit_test(after_a_damaged_record_the_next_ones_are_added_rightly),
		cmocka_unit_test(any_byte_of_a_payload_may_be_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
