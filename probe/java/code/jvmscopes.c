// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/code/jvmscopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "java/code/unsigned5.h"

#define SCOPE_BYTES_MIN 6 /* six numbers */

struct decoder {
	struct jvmscopes *scopes;
	const struct jvmscopes_input *input;
	uint32_t *known; /* for each offset in the data the number of its scope, from 1 */
	size_t scopes_max;
};

/* Reads a scope: {caller's offset; method; bci + 1; …}. Callers have lower offsets, so there are no
 * cycles. */
static int read_scope(struct decoder *decoder, uint32_t offset, struct jvmscope *scope,
		      uint32_t *caller)
{
	const struct jvmscopes_input *input = decoder->input;
	struct unsigned5 stream = {
		.data = input->data, .bytes = input->data_bytes, .at = offset, .base = input->base};

	*caller = unsigned5_next(&stream);
	scope->method = unsigned5_next(&stream);
	scope->bci = (int32_t)(unsigned5_next(&stream) - 1);
	if (stream.wrong || *caller >= offset || !scope->method || scope->bci < JVMSCOPE_BCI_NONE ||
	    scope->bci > UINT16_MAX)
		return -EBADMSG;
	return 0;
}

/* Adds the scope at `offset` and its callers, up to the first that is known. */
static int add_chain(struct decoder *decoder, uint32_t offset, uint32_t *number)
{
	struct jvmscopes *scopes = decoder->scopes;

	*number = 0;
	while (offset) {
		if (offset >= decoder->input->data_bytes)
			return -EBADMSG;
		*number = decoder->known[offset];
		if (*number)
			return 0;
		if (scopes->scopes_count == decoder->scopes_max)
			return -EBADMSG;
		struct jvmscope *scope = &scopes->scopes[scopes->scopes_count];
		*number = decoder->known[offset] = ++scopes->scopes_count;
		int r = read_scope(decoder, offset, scope, &offset);
		if (r < 0)
			return r;
		number = &scope->caller;
	}
	return 0;
}

static int32_t int_at(const uint8_t *from, size_t at)
{
	int32_t value;

	memcpy(&value, from + at, sizeof(value));
	return value;
}

static bool layout_is_plausible(const struct jvm_layout *layout)
{
	size_t bytes = layout->pcdesc_bytes;

	return bytes >= 8 && bytes <= 64 && layout->pcdesc_pc + sizeof(int32_t) <= bytes &&
	       layout->pcdesc_scope + sizeof(int32_t) <= bytes;
}

/* Adds the places. The pc of the first PcDesc lies before all code, that of the last behind. */
static int add_places(struct decoder *decoder, const struct jvm_layout *layout)
{
	struct jvmscopes *scopes = decoder->scopes;
	size_t count = decoder->input->pcs_bytes / layout->pcdesc_bytes;
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		const uint8_t *desc = decoder->input->pcs + i * layout->pcdesc_bytes;
		int32_t pc = int_at(desc, layout->pcdesc_pc), scope;
		uint32_t number;

		if (pc <= last)
			return -EBADMSG;
		last = pc;
		scope = int_at(desc, layout->pcdesc_scope);
		int r = scope < 0 ? -EBADMSG : add_chain(decoder, (uint32_t)scope, &number);
		if (r < 0)
			return r;
		if (pc < 0)
			continue;
		scopes->places[scopes->places_count++] =
			(struct jvmplace){.pc = (uint32_t)pc, .scope = number & INT32_MAX};
	}
	return 0;
}

int jvmscopes_decode(struct jvmscopes *scopes, const struct jvm_layout *layout,
		     const struct jvmscopes_input *input)
{
	struct decoder decoder = {.scopes = scopes, .input = input};
	_cleanup_free_ uint32_t *known = NULL;

	*scopes = (struct jvmscopes){0};
	if (!layout_is_plausible(layout))
		return -EBADMSG;
	decoder.scopes_max = input->data_bytes / SCOPE_BYTES_MIN + 1;
	decoder.known = known = calloc(input->data_bytes + 1, sizeof(*known));
	scopes->places =
		calloc(input->pcs_bytes / layout->pcdesc_bytes + 1, sizeof(*scopes->places));
	scopes->scopes = calloc(decoder.scopes_max, sizeof(*scopes->scopes));
	if (!known || !scopes->places || !scopes->scopes)
		return -ENOMEM;
	return add_places(&decoder, layout);
}

bool jvmscopes_mark_stops(struct jvmscopes *scopes, const uint32_t *pcs, size_t count)
{
	bool others = false;
	size_t at = 0;

	for (uint32_t i = 0; i < scopes->places_count; i++) {
		struct jvmplace *place = &scopes->places[i];

		while (at < count && pcs[at] < place->pc)
			at++;
		place->can_stop = at < count && pcs[at] == place->pc;
		others = others || (place->scope && !place->can_stop);
	}
	return others;
}
