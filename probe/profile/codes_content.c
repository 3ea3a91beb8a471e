// SPDX-License-Identifier: GPL-2.0-only
/* What was read, once for each distinct content: processes that run the same program have the same
 * code objects, each at addresses of its own. */
#include <stdlib.h>

#include "profile/codes_state.h"

#define CONTENT_BYTES 64 /* of the map and the allocation, about */

void known_unref(struct codes *codes, struct known_code *known)
{
	if (--known->refs)
		return;
	if (known->is_shared)
		map_del(codes->contents, &known->hash);
	codes->stats.known--;
	codes->stats.bytes -= known->bytes;
	pycode_unref(known->code);
	free(known);
}

/* One that says the same. NULL: there is none, or it can't be found. */
static struct known_code *find_equal(struct codes *codes, uint64_t hash, const struct pycode *code)
{
	struct known_code **slot = map_get(codes->contents, &hash);

	return slot && pycode_is_equal((*slot)->code, code) ? *slot : NULL;
}

/* So that others find it; where another one has its hash, or there is no memory, none does. */
static void share(struct codes *codes, struct known_code *known)
{
	struct known_code **slot;

	if (map_put(codes->contents, &known->hash, (void **)&slot) != 1)
		return;
	*slot = known;
	known->is_shared = true;
}

struct known_code *known_get(struct codes *codes, struct pycode *code)
{
	uint64_t hash = pycode_hash(code, codes->seed);
	struct known_code *known = find_equal(codes, hash, code);

	if (known) {
		pycode_unref(code);
		known->refs++;
		return known;
	}
	known = calloc(1, sizeof(*known));
	if (!known) {
		pycode_unref(code);
		return NULL;
	}
	*known = (struct known_code){
		.refs = 1,
		.code = code,
		.hash = hash,
		.bytes = pycode_bytes(code) + sizeof(*known) + CONTENT_BYTES,
	};
	share(codes, known);
	codes->stats.known++;
	codes->stats.bytes += known->bytes;
	return known;
}
