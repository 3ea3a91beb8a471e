// SPDX-License-Identifier: GPL-2.0-only
/* The names of a batch's spots. */
#include "profile/batch_state.h"

#include "profile/python_call.h"
#include "symbol/pycode.h"

/* What a code object's spots have in common is in the text once: they are many, and their names as
 * long as their process likes. */
struct named_code {
	const struct pycode *python;
	const struct interpreter *interpreter; /* whose script makes the file shorter */
};

/* Has it the name of another spot of its code object? */
static bool name_again(const struct batch *batch, struct map *codes, uint32_t number)
{
	struct spot *spot = &batch->spots[number];
	struct named_code key = {spot->python, spot->interpreter};
	uint32_t *first;

	if (!spot->python || !codes)
		return false;
	int r = map_put(codes, &key, (void **)&first);
	if (r > 0)
		*first = number;
	if (r != 0)
		return false;
	spot->name = batch->spots[*first].name;
	spot->named = batch->spots[*first].named;
	spot->named.line = pycode_line(spot->python, spot->code.instruction);
	return true;
}

void batch_name_spots(struct batch *batch, struct symbolizer *symbolizer)
{
	struct map *codes = NULL;

	if (map_new(&codes, sizeof(struct named_code), sizeof(uint32_t), SPOTS_MAX) < 0)
		codes = NULL;
	for (size_t i = 0; i < batch->spots_count; i++) {
		struct spot *spot = &batch->spots[i];

		if (name_again(batch, codes, (uint32_t)i))
			continue;
		spot->name = batch->text.len;
		spot->named = symbolizer_name(symbolizer, &spot->code, &batch->text);
		spot->calls = spot->may_call && !buf_error(&batch->text) &&
			      python_call(batch->text.data + spot->name, spot->named.name_len);
	}
	map_free(codes);
}
