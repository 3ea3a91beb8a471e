// SPDX-License-Identifier: GPL-2.0-or-later
/* output/frames: the columns' way back to frames and nodes, also where they are damaged. */
#include <sys/mman.h>

#include "output/frames/frames_columns.h"
#include "unit/output/tree_text.h"

#define COLUMN_MAX (1u << 20)

/* A column whose last byte lies before a page that nobody may read. */
struct guarded_column {
	char *map, *end;
	size_t map_bytes, len;
	char *content; /* as it was made */
};

struct guarded {
	struct guarded_column columns[FRAMES_COLUMNS];
	uint32_t frames, nodes;
};

/* Lays the first `len` bytes of the column before the guard. */
static struct frames_slice lay_column(const struct guarded_column *column, size_t len)
{
	if (len)
		memcpy(column->end - len, column->content, len);
	return (struct frames_slice){column->end - len, len};
}

static void make_guarded(struct guarded *guarded, const struct tree *tree)
{
	struct frames_columns made;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	assert_int_equal(frames_columns_make(&made, tree, TREE_ROOT, COLUMN_MAX), 0);
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		struct guarded_column *column = &guarded->columns[i];
		size_t bytes = (made.columns[i].len / page + 1) * page;

		column->len = made.columns[i].len;
		column->map_bytes = bytes + page;
		column->map = mmap(NULL, column->map_bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(column->map != MAP_FAILED);
		column->end = column->map + bytes;
		assert_int_equal(mprotect(column->end, page, PROT_NONE), 0);
		column->content = TAKE_PTR(made.columns[i].data);
		lay_column(column, column->len);
	}
	guarded->frames = made.frames;
	guarded->nodes = made.nodes;
	frames_columns_done(&made);
}

static void guarded_done(struct guarded *guarded)
{
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		munmap(guarded->columns[i].map, guarded->columns[i].map_bytes);
		free(guarded->columns[i].content);
	}
}
#define _cleanup_guarded_ _cleanup_(guarded_done)

static void list_slices(const struct guarded *guarded, struct frames_slice slices[FRAMES_COLUMNS])
{
	for (int i = 0; i < FRAMES_COLUMNS; i++)
		slices[i] = lay_column(&guarded->columns[i], guarded->columns[i].len);
}

static volatile unsigned touched;

static void touch_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		touched += (unsigned char)text[i];
}

/* Looks at all that a frame leads to. */
static void touch_frame(const struct frame *frame)
{
	assert_true(frame->type > FRAME_TYPE_ROOT && frame->type < FRAME_TYPE_COUNT);
	touch_text(frame->name, frame->name_len);
	touch_text(frame->source.file, frame->source.file_len);
	if (frame->module)
		touch_text(frame->module->path, frame->module->path_len);
}

/* Reads columns that may be damaged. Returns 0 or the error; what comes before it is valid. */
static int read_all(const struct frames_slice *slices, uint32_t frames, uint32_t nodes)
{
	struct frames_reader reader;
	struct frames_node node;
	uint32_t count = 0, deepest = 0;
	int r = frames_reader_begin(&reader, slices, frames, nodes);

	assert_true(r == 0 || r == -EBADMSG);
	for (uint32_t i = 0; r == 0 && i < frames; i++)
		touch_frame(&reader.frames[i]);
	while (r == 0 && (r = frames_reader_next(&reader, &node)) > 0) {
		r = 0;
		assert_true(count ? node.depth > 0 && node.depth <= deepest : !node.depth);
		assert_true(!node.depth || node.frame < frames);
		deepest = node.depth + 1;
		assert_true(++count <= nodes);
	}
	assert_true(r == -EBADMSG || (r == 0 && count == nodes));
	frames_reader_done(&reader);
	return r;
}

/* ---- trees ---- */

static const char *const names[] = {"main", "read", "f", "g", "Ünïcode", "a b", "", "[7]app"};
static const char *const files[] = {"a.py", "b/c.py"};
static struct module modules[] = {{.path = "/lib/x.so"}, {.path = "/lib/y.so"}};

static struct frame random_frame(uint64_t *random)
{
	const char *name = names[random_next(random) % ARRAY_SIZE(names)];
	struct frame frame = {.name = name, .name_len = strlen(name)};

	frame.type = FRAME_TYPE_ROOT + 1 + random_next(random) % (FRAME_TYPE_COUNT - 1);
	if (random_next(random) % 3 == 0) {
		const char *file = files[random_next(random) % ARRAY_SIZE(files)];

		frame.source = (struct frame_source){file, strlen(file),
						     (uint32_t)random_next(random) % 100000};
	}
	if (random_next(random) % 3 == 0) {
		frame.module = &modules[random_next(random) % ARRAY_SIZE(modules)];
		modules[0].path_len = strlen(modules[0].path);
		modules[1].path_len = strlen(modules[1].path);
	}
	return frame;
}

static struct tree *random_tree(uint64_t *random, size_t nodes)
{
	struct tree *tree = new_tree();

	for (size_t i = 0; i < nodes; i++) {
		size_t count = tree_count(tree), window = 1 + random_next(random) % count;
		struct frame frame = random_frame(random);
		int64_t node = tree_child_with(tree, (uint32_t)(count - window), &frame);

		assert_true(node > 0);
		if (random_next(random) % 4)
			tree_add(tree, (uint32_t)node,
				 random_next(random) >> (random_next(random) % 60 + 2));
		if (random_next(random) % 2)
			tree_add_events(tree, (uint32_t)node,
					random_next(random) >> (8 + random_next(random) % 56));
	}
	return tree;
}

/* ---- the way back ---- */

struct way_back {
	const struct tree *tree;
	struct frames_reader reader;
};

static bool compare_node(void *arg, const struct tree_frame *wanted)
{
	struct way_back *way = arg;
	struct frames_node node;

	assert_int_equal(frames_reader_next(&way->reader, &node), 1);
	assert_int_equal(node.depth, wanted->depth);
	assert_true(node.self == wanted->self);
	assert_true(node.events == tree_node_of(way->tree, wanted->node).events);
	if (node.depth)
		assert_int_equal(frames_compare(&way->reader.frames[node.frame], &wanted->frame),
				 0);
	return true;
}

static void assert_same_again(const struct tree *tree)
{
	static const struct tree_visitor visitor = {.open = compare_node};
	_cleanup_guarded_ struct guarded guarded;
	struct frames_slice slices[FRAMES_COLUMNS];
	struct way_back way = {.tree = tree};
	struct frames_node node;

	make_guarded(&guarded, tree);
	list_slices(&guarded, slices);
	assert_int_equal(guarded.nodes, tree_count(tree));
	assert_int_equal(frames_reader_begin(&way.reader, slices, guarded.frames, guarded.nodes),
			 0);
	assert_int_equal(tree_walk(tree, TREE_ROOT, &visitor, &way), 0);
	assert_int_equal(frames_reader_next(&way.reader, &node), 0);
	frames_reader_done(&way.reader);
}

static void a_small_tree_is_read_back(void **state)
{
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	assert_same_again(tree);
}

static void random_trees_are_read_back(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		_cleanup_tree_ struct tree *tree = random_tree(&random, i * 2);

		assert_same_again(tree);
	}
}

static void an_empty_tree_is_its_root(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	assert_same_again(tree);
	tree_add(tree, TREE_ROOT, 12);
	tree_add_events(tree, TREE_ROOT, 3);
	assert_same_again(tree);
}

static void the_only_name_may_be_empty(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, ""), 5);
	assert_same_again(tree);
}

static void the_largest_numbers_are_read_back(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	uint32_t node = add_python(tree, TREE_ROOT, "f", "a.py", UINT32_MAX - 1);

	(void)state;
	tree_add(tree, node, UINT64_MAX);
	tree_add_events(tree, node, (UINT64_C(1) << 56) - 1);
	assert_same_again(tree);
}

static void the_last_line_that_a_frame_may_have_is_read_back(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	tree_add(tree, add_python(tree, TREE_ROOT, "f", "a.py", UINT32_MAX), 1);
	assert_same_again(tree);
}

static void a_deep_tree_is_read_back(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	uint32_t node = TREE_ROOT;

	(void)state;
	for (int i = 0; i < 3000; i++)
		node = add_child(tree, node, FRAME_TYPE_NATIVE, i % 3 ? "f" : "g");
	tree_add(tree, node, 1);
	assert_same_again(tree);
}

/* ---- damage ---- */

static struct tree *tree_to_harm(void)
{
	uint64_t random = 7;
	struct tree *tree = random_tree(&random, 24);
	uint32_t node = add_python(tree, TREE_ROOT, "f", "a.py", 300);

	tree_add(tree, node, UINT64_MAX >> 1);
	return tree;
}

static void a_column_cut_anywhere_is_refused(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_to_harm();
	_cleanup_guarded_ struct guarded guarded;

	(void)state;
	make_guarded(&guarded, tree);
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		bool has_texts = i == FRAMES_COLUMN_names || i == FRAMES_COLUMN_files ||
				 i == FRAMES_COLUMN_modules;

		for (size_t len = 0; len < guarded.columns[i].len; len++) {
			struct frames_slice slices[FRAMES_COLUMNS];

			list_slices(&guarded, slices);
			slices[i] = lay_column(&guarded.columns[i], len);
			int r = read_all(slices, guarded.frames, guarded.nodes);
			if (!has_texts) /* a text may be shorter and still be one */
				assert_int_equal(r, -EBADMSG);
		}
	}
}

static void all_columns_cut_at_once_are_refused(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_to_harm();
	_cleanup_guarded_ struct guarded guarded;

	(void)state;
	make_guarded(&guarded, tree);
	for (size_t len = 0; len < guarded.nodes; len++) {
		struct frames_slice slices[FRAMES_COLUMNS];

		for (int i = 0; i < FRAMES_COLUMNS; i++) {
			size_t whole = guarded.columns[i].len;

			slices[i] = lay_column(&guarded.columns[i], len < whole ? len : whole);
		}
		assert_int_equal(read_all(slices, guarded.frames, guarded.nodes), -EBADMSG);
	}
}

static void any_byte_may_be_another(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_to_harm();
	_cleanup_guarded_ struct guarded guarded;
	struct frames_slice slices[FRAMES_COLUMNS];

	(void)state;
	make_guarded(&guarded, tree);
	list_slices(&guarded, slices);
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		char *bytes = guarded.columns[i].end - guarded.columns[i].len;

		for (size_t at = 0; at < guarded.columns[i].len; at++) {
			char was = bytes[at];

			for (unsigned other = 1; other < 256; other++) {
				bytes[at] = (char)(was ^ (char)other);
				read_all(slices, guarded.frames, guarded.nodes);
			}
			bytes[at] = was;
		}
	}
	assert_int_equal(read_all(slices, guarded.frames, guarded.nodes), 0);
}

static void many_bytes_may_be_others(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_to_harm();
	_cleanup_guarded_ struct guarded guarded;
	uint64_t random = 3;

	(void)state;
	make_guarded(&guarded, tree);
	for (int turn = 0; turn < 20000; turn++) {
		struct frames_slice slices[FRAMES_COLUMNS];

		list_slices(&guarded, slices);
		for (uint64_t i = random_next(&random) % 8 + 1; i > 0; i--) {
			const struct guarded_column *column =
				&guarded.columns[random_next(&random) % FRAMES_COLUMNS];

			column->end[-1 - (int64_t)(random_next(&random) % (column->len + 1))] =
				(char)random_next(&random);
		}
		read_all(slices, guarded.frames, guarded.nodes);
	}
}

static void other_counts_than_the_columns_have_are_refused_or_harmless(void **state)
{
	static const uint32_t counts[] = {0, 1, 7, 100, 1000000, UINT32_MAX - 1, UINT32_MAX};
	_cleanup_tree_ struct tree *tree = tree_to_harm();
	_cleanup_guarded_ struct guarded guarded;
	struct frames_slice slices[FRAMES_COLUMNS];

	(void)state;
	make_guarded(&guarded, tree);
	list_slices(&guarded, slices);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (counts[i] != guarded.frames)
			assert_int_equal(read_all(slices, counts[i], guarded.nodes), -EBADMSG);
		assert_int_equal(read_all(slices, guarded.frames, counts[i]),
				 counts[i] > guarded.nodes ? -EBADMSG : 0);
	}
}

static void a_number_has_at_most_ten_bytes(void **state)
{
	static const char longest[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	static const char endless[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	struct frames_slice slice = {longest, 10};
	uint64_t number;

	(void)state;
	assert_true(frames_number(&slice, &number));
	assert_true(number == UINT64_MAX);
	assert_int_equal(slice.len, 0);
	assert_false(frames_number(&slice, &number));
	slice = (struct frames_slice){endless, 11};
	assert_false(frames_number(&slice, &number));
	slice = (struct frames_slice){longest, 9};
	assert_false(frames_number(&slice, &number));
	slice = (struct frames_slice){NULL, 0};
	assert_false(frames_number(&slice, &number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_tree_is_read_back),
		cmocka_unit_test(random_trees_are_read_back),
		cmocka_unit_test(an_empty_tree_is_its_root),
		cmocka_unit_test(the_only_name_may_be_empty),
		cmocka_unit_test(the_largest_numbers_are_read_back),
		cmocka_unit_test(the_last_line_that_a_frame_may_have_is_read_back),
		cmocka_unit_test(a_deep_tree_is_read_back),
		cmocka_unit_test(a_column_cut_anywhere_is_refused),
		cmocka_unit_test(all_columns_cut_at_once_are_refused),
		cmocka_unit_test(any_byte_may_be_another),
		cmocka_unit_test(many_bytes_may_be_others),
		cmocka_unit_test(other_counts_than_the_columns_have_are_refused_or_harmless),
		cmocka_unit_test(a_number_has_at_most_ten_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
