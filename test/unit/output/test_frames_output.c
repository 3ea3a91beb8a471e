// SPDX-License-Identifier: GPL-2.0-or-later
/* output/frames: the columns that the page reads. */
#include "unit/output/tree_text.h"

/* A file that is read: where the next byte is, and the columns' sizes out of the header. */
struct reader {
	struct buf file;
	const char *header;
	const unsigned char *columns;
};

static void write_file(struct reader *reader, const struct tree *tree, uint32_t start)
{
	static const struct profile_meta meta = {.title = "T",
						 .count_name = "samples",
						 .from_ns = 1500000000,
						 .until_ns = 2500000000,
						 .by_period = true,
						 .period_ns = 10000000,
						 .lost = 3};
	uint32_t header_bytes;

	reader->file = (struct buf)BUF_INIT(1 << 20);
	assert_int_equal(output_find("frames")->write(tree, start, &meta, &reader->file), 0);
	assert_memory_equal(reader->file.data, "SPF2", 4);
	memcpy(&header_bytes, reader->file.data + 4, sizeof(header_bytes));
	reader->header = reader->file.data + 8;
	reader->columns = (const unsigned char *)reader->header + header_bytes;
}

/* Finds a column by its name. Returns its bytes. */
static const unsigned char *find_column(const struct reader *reader, const char *name, size_t *len)
{
	const unsigned char *at = reader->columns;
	const char *row = strstr(reader->header, "\"columns\":[") + strlen("\"columns\":[");

	for (;;) {
		char found[16];
		int used = 0;

		assert_int_equal(sscanf(row, "[\"%15[^\"]\",%zu]%n", found, len, &used), 2);
		if (strcmp(found, name) == 0)
			return at;
		at += *len;
		row += used + 1;
	}
}

/* Returns the n-th number of a column. */
static uint64_t number_at(const struct reader *reader, const char *name, unsigned n)
{
	size_t len;
	const unsigned char *at = find_column(reader, name, &len), *end = at + len;

	for (unsigned i = 0;; i++) {
		uint64_t value = 0;

		for (int shift = 0;; shift += 7) {
			assert_true(at < end);
			value |= (uint64_t)(*at & 127) << shift;
			if (!(*at++ & 128))
				break;
		}
		if (i == n)
			return value;
	}
}

static void assert_texts(const struct reader *reader, const char *name, const char *wanted)
{
	size_t len;
	const unsigned char *at = find_column(reader, name, &len);

	assert_int_equal(len, strlen(wanted));
	assert_memory_equal(at, wanted, len);
}

static void a_small_tree_is_columns_in_preorder(void **state)
{
	static const uint64_t depths[] = {0, 1, 2, 3, 3, 3}, selves[] = {0, 0, 0, 10, 30, 60};
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);
	struct reader reader;
	size_t len;

	(void)state;
	write_file(&reader, tree, TREE_ROOT);
	assert_non_null(
		strstr(reader.header, "\"from\":1.500,\"until\":2.500,\"period_ns\":10000000"));
	assert_non_null(strstr(reader.header, "\"lost\":3"));
	assert_non_null(strstr(reader.header, "\"frames\":5,\"nodes\":6"));
	assert_texts(&reader, "names", "[7]app\nmain\njava\nread\nwork");
	const unsigned char *kinds = find_column(&reader, "kinds", &len);
	assert_int_equal(len, 5);
	assert_int_equal(kinds[0], FRAME_TYPE_PROCESS);
	assert_int_equal(kinds[3], FRAME_TYPE_KERNEL);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(number_at(&reader, "depth", i), depths[i]);
		assert_int_equal(number_at(&reader, "self", i), selves[i]);
		assert_int_equal(number_at(&reader, "frame", i), i ? 0 : 1);
	}
	buf_done(&reader.file);
}

static void names_are_one_line_each_and_numbers_may_be_large(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct reader reader;

	(void)state;
	tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "a\nb;c\x1b"),
		 UINT64_C(1) << 63);
	write_file(&reader, tree, TREE_ROOT);
	assert_texts(&reader, "names", "a b:c ");
	assert_true(number_at(&reader, "self", 1) == UINT64_C(1) << 63);
	buf_done(&reader.file);
}

/* Adds a frame of `file` at an address. */
static void add_place(struct tree *tree, const char *path, uint64_t address, uint64_t weight)
{
	struct module module = {.path = path, .path_len = strlen(path)};
	struct frame frame = {.type = FRAME_TYPE_NATIVE,
			      .name = "f",
			      .name_len = 1,
			      .module = &module,
			      .address = address};
	int64_t node = tree_child_with(tree, TREE_ROOT, &frame);

	assert_true(node > 0);
	tree_add(tree, (uint32_t)node, weight);
	tree_add_events(tree, (uint32_t)node, 1);
}

static void places_of_a_function_are_one_and_its_files_stay(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct reader reader;

	(void)state;
	add_place(tree, "/lib/x.so", 16, 5);
	add_place(tree, "/lib/x.so", 32, 7);
	add_place(tree, "/lib/y.so", 16, 1);
	write_file(&reader, tree, TREE_ROOT);
	assert_texts(&reader, "names", "f\nf");
	assert_texts(&reader, "modules", "\n/lib/x.so\n/lib/y.so");
	assert_int_equal(number_at(&reader, "module", 0), 1);
	assert_int_equal(number_at(&reader, "module", 1), 2);
	assert_int_equal(number_at(&reader, "self", 1), 12);
	assert_int_equal(number_at(&reader, "events", 1), 2);
	assert_int_equal(number_at(&reader, "self", 2), 1);
	buf_done(&reader.file);
}

static void lines_stay_apart_and_files_are_there_once(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct reader reader;

	(void)state;
	tree_add(tree, add_python(tree, TREE_ROOT, "C.run", "a.py", 12), 1);
	tree_add(tree, add_python(tree, TREE_ROOT, "C.run", "a.py", 13), 1);
	write_file(&reader, tree, TREE_ROOT);
	assert_texts(&reader, "files", "\na.py");
	assert_int_equal(number_at(&reader, "line", 0), 12);
	assert_int_equal(number_at(&reader, "line", 1), 13);
	buf_done(&reader.file);
}

static void an_empty_tree_has_its_root(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct reader reader;

	(void)state;
	write_file(&reader, tree, TREE_ROOT);
	assert_non_null(strstr(reader.header, "\"frames\":0,\"nodes\":1"));
	assert_texts(&reader, "names", "");
	buf_done(&reader.file);
}

static void a_bound_is_an_error(void **state)
{
	static const struct profile_meta meta = {.title = "T", .count_name = "samples"};
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);
	_cleanup_buf_ struct buf out = BUF_INIT(64);

	(void)state;
	assert_true(output_find("frames")->write(tree, TREE_ROOT, &meta, &out) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_tree_is_columns_in_preorder),
		cmocka_unit_test(names_are_one_line_each_and_numbers_may_be_large),
		cmocka_unit_test(places_of_a_function_are_one_and_its_files_stay),
		cmocka_unit_test(lines_stay_apart_and_files_are_there_once),
		cmocka_unit_test(an_empty_tree_has_its_root),
		cmocka_unit_test(a_bound_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
