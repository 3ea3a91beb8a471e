// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded text from anywhere to a picture. The frames that the sorted lines give are compared with
 * those of a tree that is filled line by line. The first byte says what is asked for.
 */
#include "fuzz.h"

#include <string.h>

#include "base/cleanup.h"
#include "output/diff/difference.h"
#include "output/report/report.h"
#include "output/svg/picture.h"
#include "output/svg/stacks_svg.h"
#include "output/svg/stacks_walk.h"
#include "stack/tree.h"

/* Frames as a sum that no order changes. */
static uint64_t mix(uint32_t depth, uint64_t weight, const char *name, size_t len)
{
	uint64_t hash = depth * UINT64_C(0x9e3779b97f4a7c15) ^ weight;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

/* The slow way; false: not a line that counts. */
static bool parse(char *line, uint64_t *weight)
{
	size_t len = strlen(line);
	char *end;

	while (len && strchr(" \t\r", line[len - 1]))
		line[--len] = '\0';
	char *blank = strrchr(line, ' '), *tab = strrchr(line, '\t');
	if (!blank || (tab && tab > blank))
		blank = tab;
	if (!blank || blank[1] < '0' || blank[1] > '9')
		return false;
	if (strspn(blank + 1, "0123456789") > 19) /* may or may not fit: not for this oracle */
		return false;
	*weight = strtoull(blank + 1, &end, 10);
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	*blank = '\0';
	return *end == '\0' && *weight > 0;
}

static void plant(struct tree *tree, char *stack, uint64_t weight)
{
	int64_t node = TREE_ROOT;

	for (char *next = *stack ? stack : NULL; next; stack = next) {
		char *name = next;

		next = strchr(name, ';');
		node = tree_child(tree, (uint32_t)node, FRAME_TYPE_NATIVE, name,
				  next ? (size_t)(next - name) : strlen(name));
		demand(node > 0);
		next = next ? next + 1 : NULL;
	}
	tree_add(tree, (uint32_t)node, weight);
}

static bool add_node(void *arg, const struct tree_frame *node)
{
	if (node->depth)
		*(uint64_t *)arg +=
			mix(node->depth, node->total, node->frame.name, node->frame.name_len);
	return true;
}

static bool add_chain(void *arg, const struct stacks_chain *chain)
{
	uint32_t depth = chain->depth;

	for (const char *name = chain->begin, *end; name; name = end ? end + 1 : NULL) {
		end = memchr(name, ';', (size_t)(chain->end - name));
		*(uint64_t *)arg += mix(depth++, chain->weight, name,
					(size_t)((end ? end : chain->end) - name));
	}
	demand(depth - chain->depth == stacks_chain_frames(chain));
	return true;
}

/* NULs and numbers of 20 digits are left to the other checks. */
static bool is_plain(const char *text, size_t bytes)
{
	size_t digits = 0;

	for (size_t i = 0; i < bytes; i++) {
		digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
		if (!text[i] || digits > 17)
			return false;
	}
	return true;
}

static void compare(struct stacks *stacks, const char *text)
{
	_cleanup_tree_ struct tree *tree = NULL;
	static const struct tree_visitor visitor = {add_node, NULL};
	uint64_t planted = 0, walked = 0, total;

	demand(tree_new(&tree, 1 << 20, 1 << 24) == 0);
	while (*text) {
		size_t len = strcspn(text, "\n");
		_cleanup_free_ char *line = strndup(text, len);
		uint64_t weight;

		if (parse(line, &weight))
			plant(tree, line, weight);
		text += len + (text[len] == '\n');
	}
	demand(tree_weigh(tree, TREE_ROOT, &total) == 0 && total == stacks->totals[STACKS_AFTER]);
	demand(tree_walk(tree, TREE_ROOT, &visitor, &planted) == 0);
	stacks_sort(stacks);
	stacks_link(stacks);
	demand(stacks_walk(stacks, 1, add_chain, &walked) == 0);
	demand(planted == walked);
}

static int collect(void *arg, struct buf *out)
{
	buf_add(arg, out->data, out->len);
	out->len = 0;
	return 0;
}

static char *copy_text(const uint8_t *data, size_t bytes)
{
	char *text = calloc(1, bytes + STACKS_PADDING);

	demand(text != NULL);
	if (bytes)
		memcpy(text, data, bytes);
	return text;
}

static void draw(struct stacks *stacks, uint8_t wish)
{
	_cleanup_buf_ struct buf picture = BUF_INIT(1 << 28);
	struct stacks_svg svg = {
		.meta = {.title = "T", .count_name = "samples", .icicle = wish & 2},
		.width = wish & 4 ? 100 : PICTURE_WIDTH,
		.is_diff = wish & 1,
		.negate = wish & 8,
		.flush = collect,
		.arg = &picture,
	};

	stacks->normalize = wish & 16;
	demand(stacks_svg_write(stacks, &svg) == 0 && buf_error(&picture) == 0);
	for (size_t i = 0; i < picture.len; i++) {
		unsigned char c = (unsigned char)picture.data[i];

		demand(c >= 0x20 || c == '\n' || c == '\t');
	}
	demand(picture.len > 7 && memcmp(picture.data + picture.len - 7, "</svg>\n", 7) == 0);
}

/* Names that a text may have by chance. */
static struct judged_functions *judge_letters(void)
{
	struct judged_functions *judged;

	demand(judged_new(&judged) == 0);
	for (int i = 0; i < 26; i++) {
		char name[] = {(char)('a' + i), '\0'};

		demand(judged_add(judged, FRAME_TYPE_NATIVE, name,
				  (struct judged_function){(signed char)(i % 3 - 1), 1}) == 0);
	}
	return judged;
}

/* The way of `render --diff`, or of a range of history, and the table. */
static void draw_difference(struct stacks *stacks, uint8_t wish)
{
	_cleanup_buf_ struct buf picture = BUF_INIT(1 << 28), said = BUF_INIT(1 << 20),
				 table = BUF_INIT(1 << 28);
	const struct report_wish rows = {.unit = "samples", .rows = 50, .callers = wish & 2};
	_cleanup_difference_ struct difference difference = {0};
	struct stacks_svg svg = {
		.meta = {.title = "T", .count_name = "samples"},
		.width = PICTURE_WIDTH,
		.is_diff = true,
		.negate = wish & 8,
		.remark = wish & 2 ? "remark" : NULL,
		.flush = collect,
		.arg = &picture,
	};
	struct judged_functions *judged = wish & 4 ? judge_letters() : NULL;

	if (judged) {
		stacks->took_ns[STACKS_AFTER] = 3600000000;
		stacks->took_ns[STACKS_BEFORE] = 7000000;
		svg.judged = judged;
	}
	demand(difference_make(&difference, stacks, (wish >> 5) % 3, wish & 2, &svg) == 0);
	for (int side = 0; side < 2; side++) {
		demand(difference.stacks.totals[side] == stacks->totals[side]);
		demand(difference.comparable.texts[side].len <= 2 * stacks->count * 20 + (1 << 20));
	}
	difference_warnings(&difference, wish & 8, &said);
	demand(stacks_svg_write(&difference.stacks, &svg) == 0 && buf_error(&picture) == 0);
	demand(report_write(stacks, &rows, &table) == 0);
	judged_free(judged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	_cleanup_stacks_ struct stacks stacks = {0};
	uint8_t wish = bytes ? *data : 0;

	data += bytes > 0;
	bytes -= bytes > 0;
	size_t half = wish & 1 ? bytes / 2 : bytes; /* a difference: the second half is before */
	_cleanup_free_ char *after = copy_text(data, half);
	_cleanup_free_ char *before = copy_text(data + half, bytes - half);
	demand(stacks_read(&stacks, STACKS_AFTER, after, half) == 0);
	if (wish & 1)
		demand(stacks_read(&stacks, STACKS_BEFORE, before, bytes - half) == 0);
	else if (is_plain(after, half))
		compare(&stacks, after);
	if (wish & 1)
		draw_difference(&stacks, wish);
	draw(&stacks, wish);
	return 0;
}
