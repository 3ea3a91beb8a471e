// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/upload_pieces.h"

#include <zlib.h>

#include "unit/output/tree_text.h"

#define PPROF_MAX  (2u << 20)
#define STACKS_MAX 16000
#define DEPTH_MAX  1000

enum { SAMPLE = 2, MAPPING = 3, LOCATION = 4, STRING = 6, SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };

static const struct pprof_shape shape = {
	.values = {{"samples", "count", PPROF_WEIGHT}},
	.period_type = "cpu",
	.period_unit = "nanoseconds",
};

/* What a reader sees of a pprof. */
struct seen {
	size_t bytes, samples, locations, strings, depth;
	uint64_t sum;
};

static uint64_t varint(const unsigned char **at, const unsigned char *end)
{
	uint64_t value = 0;

	for (int shift = 0;; shift += 7) {
		assert_true(*at < end && shift < 64);
		unsigned char byte = *(*at)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

/* The next field, a number's or a message's. */
static unsigned field(const unsigned char **at, const unsigned char *end,
		      const unsigned char **data, uint64_t *len)
{
	uint64_t key = varint(at, end);

	*len = varint(at, end);
	*data = NULL;
	if ((key & 7) == 2) {
		assert_true(*len <= (uint64_t)(end - *at));
		*data = *at;
		*at += *len;
	}
	return (unsigned)(key >> 3);
}

static void see_sample(const unsigned char *at, uint64_t len, struct seen *seen)
{
	const unsigned char *end = at + len, *data;
	size_t depth = 0;
	uint64_t bytes;

	while (at < end) {
		unsigned number = field(&at, end, &data, &bytes);
		const unsigned char *last = data + bytes;

		while (number == SAMPLE_LOCATION && data < last) {
			assert_true(varint(&data, last) > 0);
			depth++;
		}
		if (number == SAMPLE_VALUE)
			seen->sum += varint(&data, last);
	}
	assert_true(depth > 0);
	if (depth > seen->depth)
		seen->depth = depth;
}

static struct seen see(const struct upload_piece *piece)
{
	_cleanup_free_ unsigned char *raw = malloc(PPROF_MAX);
	struct seen seen = {0};
	z_stream stream = {.next_in = (unsigned char *)(uintptr_t)piece->data,
			   .avail_in = (uInt)piece->bytes,
			   .next_out = raw,
			   .avail_out = PPROF_MAX};
	uint64_t len;

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	seen.bytes = stream.total_out;
	const unsigned char *at = raw, *end = raw + seen.bytes, *data;
	while (at < end) {
		unsigned number = field(&at, end, &data, &len);

		seen.samples += number == SAMPLE;
		seen.locations += number == LOCATION;
		seen.strings += number == STRING;
		if (number == SAMPLE)
			see_sample(data, len, &seen);
	}
	return seen;
}

static const struct profile_meta meta = {.count_name = "samples",
					 .pprof = &shape,
					 .pprof_labels = PPROF_LABELS_NONE,
					 .from_ns = 1000,
					 .until_ns = 2000};

/* `count` stacks below one process, each of two functions with long names. */
static struct tree *many_stacks(size_t count, size_t name_bytes)
{
	struct tree *tree;
	_cleanup_free_ char *name = malloc(name_bytes + 1);

	assert_int_equal(tree_new(&tree, 1 << 20, 256 << 20), 0);
	uint32_t process = add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[7]app");
	memset(name, 'x', name_bytes);
	name[name_bytes] = '\0';
	for (size_t i = 0; i < count; i++) {
		snprintf(name, 12, "%011zu", i);
		name[11] = 'x';
		uint32_t outer = add_child(tree, process, FRAME_TYPE_NATIVE, name);
		tree_add(tree, add_child(tree, outer, FRAME_TYPE_NATIVE, "leaf"), i + 1);
	}
	return tree;
}

static size_t write_pieces(const struct output *output, const struct tree *tree,
			   const struct profile_meta *of, struct buf *out)
{
	struct upload_piece piece;
	size_t at = 0, count = 0;

	assert_int_equal(output->write(tree, TREE_ROOT, of, out), 0);
	while (upload_piece_next(out, &at, &piece))
		count++;
	assert_int_equal(at, out->len);
	return count;
}

static void assert_parts(size_t stacks, size_t name_bytes, size_t at_least)
{
	_cleanup_tree_ struct tree *tree = many_stacks(stacks, name_bytes);
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);
	struct upload_piece piece;
	size_t at = 0, samples = 0;
	uint64_t sum = 0;

	assert_true(write_pieces(&upload_push, tree, &meta, &out) >= at_least);
	while (upload_piece_next(&out, &at, &piece)) {
		struct seen seen = see(&piece);

		assert_true(seen.bytes < PPROF_MAX && seen.samples <= STACKS_MAX);
		assert_true(seen.samples > 0 && seen.locations == seen.samples + 2);
		assert_string_equal(piece.whose.process, "");
		samples += seen.samples;
		sum += seen.sum;
	}
	assert_int_equal(samples, stacks);
	assert_int_equal(sum, (uint64_t)stacks * (stacks + 1) / 2);
}

static void pprofs_are_cut_between_stacks(void **state)
{
	(void)state;
	assert_parts(1, 20, 1);
	assert_parts(STACKS_MAX, 20, 1);
	assert_parts(STACKS_MAX + 1, 20, 2);
	assert_parts(100000, 20, 7);
	assert_parts(3000, 4000, 6); /* 12 MB of names */
}

static void an_empty_window_is_one_piece(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);
	struct upload_piece piece;
	size_t at = 0;

	(void)state;
	assert_int_equal(write_pieces(&upload_push, tree, &meta, &out), 1);
	assert_true(upload_piece_next(&out, &at, &piece));
	assert_true(piece.bytes > 0);
	assert_int_equal(see(&piece).samples, 0);
}

/* 1,200 frames of 60 kB: none of them has its name twice. */
static void a_stack_that_fits_nowhere_is_told_and_the_others_are_there(void **state)
{
	_cleanup_tree_ struct tree *tree;
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);
	_cleanup_free_ char *name = malloc(60001);
	struct upload_piece piece;
	size_t at = 0, lost = 0;
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(tree_new(&tree, 1 << 20, 256 << 20), 0);
	memset(name, 'y', 60000);
	name[60000] = '\0';
	uint32_t process = add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[7]app");
	uint32_t node = process;
	tree_add(tree, add_child(tree, process, FRAME_TYPE_NATIVE, "before"), 1);
	for (int i = 0; i < 100; i++) {
		snprintf(name, 12, "%011d", i);
		name[11] = 'y';
		node = add_child(tree, node, FRAME_TYPE_NATIVE, name);
	}
	tree_add(tree, node, 2);
	tree_add(tree, add_child(tree, process, FRAME_TYPE_NATIVE, "after"), 4);
	write_pieces(&upload_push, tree, &meta, &out);
	while (upload_piece_next(&out, &at, &piece)) {
		if (piece.bytes)
			sum += see(&piece).sum;
		else
			lost++;
	}
	assert_int_equal(lost, 1);
	assert_int_equal(sum, 5);
}

static struct tree *deep_tree(unsigned depth)
{
	struct tree *tree = new_tree();
	uint32_t node = add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[7]app");

	for (unsigned i = 0; i < depth; i++) {
		char name[120];

		snprintf(name, sizeof(name), "%0100u", i);
		node = add_child(tree, node, FRAME_TYPE_NATIVE, name);
	}
	tree_add(tree, node, 3);
	return tree;
}

static void deeper_stacks_keep_what_is_next_to_the_leaf(void **state)
{
	static const unsigned depths[] = {999, 1000, 5000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		_cleanup_tree_ struct tree *tree = deep_tree(depths[i]);
		_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);
		struct upload_piece piece;
		size_t at = 0;

		assert_int_equal(write_pieces(&upload_push, tree, &meta, &out), 1);
		assert_true(upload_piece_next(&out, &at, &piece));
		struct seen seen = see(&piece);
		assert_int_equal(seen.depth, DEPTH_MAX);
		assert_int_equal(seen.sum, 3);
	}
}

/* ---- folded text ---- */

static void lines_are_short_enough_and_say_that_they_were_cut(void **state)
{
	_cleanup_tree_ struct tree *tree = deep_tree(2000);
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);
	struct upload_piece piece;
	size_t at = 0;

	(void)state;
	assert_int_equal(write_pieces(&upload_ingest, tree, &meta, &out), 1);
	assert_true(upload_piece_next(&out, &at, &piece));
	const char *head = "[7]app;[truncated];0";
	assert_memory_equal(piece.data, head, strlen(head));
	assert_true(piece.bytes > 60000 && piece.bytes <= 65536);
	assert_memory_equal(piece.data + piece.bytes - 8, "001999 3\n" + 1, 8);
}

static void processes_are_apart_where_they_are_labels(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct profile_meta apart = meta;
	struct upload_piece piece;
	size_t at = 0;

	(void)state;
	for (int i = 1; i <= 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "[%d]app", i);
		uint32_t process = add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, name);
		if (i != 2) /* that one has no stacks */
			tree_add(tree, add_child(tree, process, FRAME_TYPE_NATIVE, "f"), 5);
	}
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX), together = BUF_INIT(SIZE_MAX);
	apart.pprof_labels = PPROF_LABELS_PROCESS;
	assert_int_equal(write_pieces(&upload_ingest, tree, &meta, &together), 1);
	assert_int_equal(write_pieces(&upload_ingest, tree, &apart, &out), 2);
	assert_true(upload_piece_next(&out, &at, &piece));
	assert_string_equal(piece.whose.process, "[1]app");
	assert_memory_equal(piece.data, "[1]app;f 5\n", piece.bytes);
	assert_true(upload_piece_next(&out, &at, &piece));
	assert_string_equal(piece.whose.process, "[3]app");
}

static void folded_text_is_cut_between_lines(void **state)
{
	_cleanup_tree_ struct tree *tree = many_stacks(40000, 30);
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);
	struct upload_piece piece;
	size_t at = 0, lines = 0;

	(void)state;
	assert_true(write_pieces(&upload_ingest, tree, &meta, &out) >= 3);
	while (upload_piece_next(&out, &at, &piece)) {
		size_t of_piece = 0;

		assert_int_equal(piece.data[piece.bytes - 1], '\n');
		for (size_t i = 0; i < piece.bytes; i++)
			of_piece += piece.data[i] == '\n';
		assert_true(of_piece <= STACKS_MAX && piece.bytes < PPROF_MAX);
		lines += of_piece;
	}
	assert_int_equal(lines, 40000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pprofs_are_cut_between_stacks),
		cmocka_unit_test(an_empty_window_is_one_piece),
		cmocka_unit_test(a_stack_that_fits_nowhere_is_told_and_the_others_are_there),
		cmocka_unit_test(deeper_stacks_keep_what_is_next_to_the_leaf),
		cmocka_unit_test(lines_are_short_enough_and_say_that_they_were_cut),
		cmocka_unit_test(processes_are_apart_where_they_are_labels),
		cmocka_unit_test(folded_text_is_cut_between_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
