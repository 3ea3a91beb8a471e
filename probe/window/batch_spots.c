// SPDX-License-Identifier: GPL-2.0-or-later
/* Names a batch's spots. */
#include "window/batch_state.h"

#include <string.h>

#include "base/hash.h"
#include "window/python_call.h"
#include "python/pycode.h"

/*
 * Shares texts between the spots of a code object: they are many, and their names as long as their
 * process likes.
 */
struct named_code {
	const struct pycode *python;
	const struct interpreter *interpreter; /* whose script's folder shortens the file */
};

/* Returns the position of a text that exists already. */
struct text_key {
	uint64_t hash, len;
};

/* Returns whether it has the name of another spot of its code object. */
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

/* Spots of Java methods differ in what runs there, not in their texts. */
static void share_text(struct batch *batch, struct map *texts, uint32_t number)
{
	struct spot *spot = &batch->spots[number];
	size_t len = spot->named.name_len + spot->named.file_len;
	uint32_t *first;

	if (spot->code.place != CODE_JAVA || !texts || buf_error(&batch->text))
		return;
	struct text_key key = {hash_bytes(0, batch->text.data + spot->name, len), len};
	int r = map_put(texts, &key, (void **)&first);
	if (r > 0)
		*first = number;
	if (r != 0 || memcmp(batch->text.data + batch->spots[*first].name,
			     batch->text.data + spot->name, len) != 0)
		return;
	batch->text.len = spot->name;
	spot->name = batch->spots[*first].name;
}

void batch_name_spots(struct batch *batch, struct symbolizer *symbolizer)
{
	struct map *codes = NULL, *texts = NULL;

	if (map_new(&codes, sizeof(struct named_code), sizeof(uint32_t), SPOTS_MAX) < 0)
		codes = NULL;
	if (map_new(&texts, sizeof(struct text_key), sizeof(uint32_t), SPOTS_MAX) < 0)
		texts = NULL;
	for (size_t i = 0; i < batch->spots_count; i++) {
		struct spot *spot = &batch->spots[i];

		if (name_again(batch, codes, (uint32_t)i))
			continue;
		spot->name = batch->text.len;
		spot->named = symbolizer_name(symbolizer, &spot->code, &batch->text);
		share_text(batch, texts, (uint32_t)i);
		spot->calls = spot->may_call && !buf_error(&batch->text) &&
			      python_call(batch->text.data + spot->name, spot->named.name_len);
	}
	map_free(codes);
	map_free(texts);
}
