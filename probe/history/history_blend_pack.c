// SPDX-License-Identifier: GPL-2.0-or-later
/* What a blend has as one record of several windows, with how much each function varied in them. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "history/history_blend.h"
#include "stack/tree_rest.h"

#define NAME_BYTES (64u * 1024 * 1024)

/* Returns how much a weight varied, as struct history_variation has it. */
static double variation_of(const struct function_weight *weight, double length)
{
	double part = weight->sum * weight->sum;

	return part > 0 ? weight->squares * length / part - 1 : 0;
}

/* Lists the functions' variations, by the columns' first frame of each. */
static int list_variations(const struct blend *blend, const struct frames_columns *columns,
			   struct history_variation *variations, size_t *count)
{
	struct frames_slice slices[FRAMES_COLUMNS];
	struct frames_reader reader;
	size_t known = functions_count(blend->functions);
	_cleanup_free_ bool *seen = calloc(known + 1, sizeof(*seen));

	for (int i = 0; i < FRAMES_COLUMNS; i++)
		slices[i] =
			(struct frames_slice){columns->columns[i].data, columns->columns[i].len};
	int r = frames_reader_begin(&reader, slices, columns->frames, columns->nodes);
	if (r == 0 && !seen)
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < reader.frames_count; i++) {
		const struct frame *frame = &reader.frames[i];
		int64_t number = frame->type <= FRAME_TYPE_MARKER
					 ? -ENOENT
					 : functions_find(blend->functions, NO_PROCESS, frame->type,
							  frame->name, frame->name_len);

		if (number < 0 || (size_t)number >= known || seen[number])
			continue;
		const struct function_row *row = functions_at(blend->functions, (size_t)number);
		seen[number] = true;
		variations[(*count)++] = (struct history_variation){
			i, variation_of(&row->self[blend->side], blend->length),
			variation_of(&row->total[blend->side], blend->length)};
	}
	frames_reader_done(&reader);
	return r;
}

int blend_pack(const struct blend *blend, size_t max_nodes, struct history_head *head,
	       struct buf *out)
{
	_cleanup_tree_ struct tree *smaller = NULL;
	struct frames_columns columns = {0};
	_cleanup_free_ struct history_variation *variations = NULL;
	size_t count = 0;
	int r = 0;

	if (tree_count(blend->tree) > max_nodes)
		r = tree_within(&smaller, blend->tree, max_nodes, NAME_BYTES);
	if (r == 0)
		r = frames_columns_make(&columns, smaller ? smaller : blend->tree, TREE_ROOT,
					HISTORY_PAYLOAD_MAX);
	if (r == 0) {
		variations = calloc((size_t)columns.frames + 1, sizeof(*variations));
		r = variations ? list_variations(blend, &columns, variations, &count) : -ENOMEM;
	}
	if (r == 0)
		r = history_pack(out, head, &columns, variations, count);
	frames_columns_done(&columns);
	return r;
}
