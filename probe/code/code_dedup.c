// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Deduplicates pieces by content where their kind can: processes that run the same program have the
 * same code, each at addresses of its own.
 */
#include <stdlib.h>

#include "code/code_cache_state.h"

#define CONTENT_BYTES 64 /* cost of the map's slot and the allocation, about */

void known_unref(struct code_cache *cache, struct known_code *known)
{
	if (--known->refs)
		return;
	if (known->is_shared)
		map_del(cache->contents, &known->hash);
	cache->stats.known--;
	cache->stats.bytes -= known->bytes;
	cache->kind->unref(known->piece);
	free(known);
}

/* Returns a known piece with equal content. NULL: there is none, or its hash is taken. */
static struct known_code *find_equal(struct code_cache *cache, uint64_t hash, const void *piece)
{
	struct known_code **slot = map_get(cache->contents, &hash);

	return slot && cache->kind->is_equal((*slot)->piece, piece) ? *slot : NULL;
}

/* Lets others find the piece, unless another one has its hash or there is no memory. */
static void share_piece(struct code_cache *cache, struct known_code *known)
{
	struct known_code **slot;

	if (map_put(cache->contents, &known->hash, (void **)&slot) != 1)
		return;
	*slot = known;
	known->is_shared = true;
}

struct known_code *known_get(struct code_cache *cache, void *piece)
{
	const struct code_kind *kind = cache->kind;
	uint64_t hash = kind->hash ? kind->hash(piece, cache->seed) : 0;
	struct known_code *known = kind->hash ? find_equal(cache, hash, piece) : NULL;

	if (known) {
		kind->unref(piece);
		known->refs++;
		return known;
	}
	known = calloc(1, sizeof(*known));
	if (!known) {
		kind->unref(piece);
		return NULL;
	}
	*known = (struct known_code){
		.refs = 1,
		.piece = piece,
		.hash = hash,
		.bytes = kind->bytes(piece) + sizeof(*known) + CONTENT_BYTES,
	};
	if (kind->hash)
		share_piece(cache, known);
	cache->stats.known++;
	cache->stats.bytes += known->bytes;
	return known;
}
