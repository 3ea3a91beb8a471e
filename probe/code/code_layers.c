// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "code/code_cache_state.h"

#define SLOT_BYTES 64 /* cost of a map's slot, about */
#define DEPTH_MAX  4  /* most layers behind a layer; then they are merged */

static struct code_layer *code_layer_new(struct code_cache *cache)
{
	_cleanup_free_ struct code_layer *layer = calloc(1, sizeof(*layer));

	if (!layer || map_new(&layer->slots, sizeof(struct code_key), sizeof(struct layer_slot),
			      SHELF_MAX) < 0)
		return NULL;
	layer->refs = 1;
	layer->cache = cache;
	return TAKE_PTR(layer);
}

struct code_layer *code_layer_ref(struct code_layer *layer)
{
	if (layer)
		layer->refs++;
	return layer;
}

void code_layer_unref(struct code_layer *layer)
{
	const struct code_key *key;
	struct layer_slot *slot;

	if (!layer || --layer->refs)
		return;
	map_each (layer->slots, pos, key, slot)
		known_unref(layer->cache, slot->known);
	layer->cache->stats.bytes -= map_count(layer->slots) * SLOT_BYTES;
	map_free(layer->slots);
	code_layer_unref(layer->behind); /* DEPTH_MAX at most */
	free(layer);
}

struct known_code *code_layer_find(struct code_layer *layer, const struct code_key *key)
{
	for (; layer; layer = layer->behind) {
		struct layer_slot *slot = map_get(layer->slots, key);

		layer->used = ++layer->cache->uses;
		if (!slot)
			continue;
		slot->used = layer->cache->window;
		return slot->known;
	}
	return NULL;
}

static int code_layer_put(struct code_layer *layer, const struct code_key *key,
			  struct known_code *known, uint64_t used)
{
	struct layer_slot *slot = NULL;
	int r = map_put(layer->slots, key, (void **)&slot);

	if (r < 0 || !slot)
		return r < 0 ? r : -ENOMEM;
	known->refs++;
	if (r == 0) { /* read again */
		layer->bytes -= slot->known->bytes;
		known_unref(layer->cache, slot->known);
	} else {
		layer->bytes += SLOT_BYTES;
		layer->cache->stats.bytes += SLOT_BYTES;
	}
	layer->bytes += known->bytes;
	*slot = (struct layer_slot){known, used};
	return 0;
}

/* Copies the slots of `from` and of the layers behind it; the front layer's slots win. */
static int put_all(struct code_layer *layer, const struct code_layer *from)
{
	const struct code_key *key;
	const struct layer_slot *slot;
	int r = from->behind ? put_all(layer, from->behind) : 0;

	map_each (from->slots, pos, key, slot) {
		if (r >= 0)
			r = code_layer_put(layer, key, slot->known, slot->used);
	}
	return r < 0 ? r : 0;
}

static void swap_slots(struct code_layer *a, struct code_layer *b)
{
	struct map *slots = a->slots;
	size_t bytes = a->bytes;

	a->slots = b->slots;
	a->bytes = b->bytes;
	b->slots = slots;
	b->bytes = bytes;
}

/* Merges the layers into one, for all that share the layer. */
static int code_layer_flatten(struct code_layer *layer)
{
	struct code_layer *flat = code_layer_new(layer->cache);
	int r = flat ? put_all(flat, layer) : -ENOMEM;

	if (r == 0) {
		swap_slots(layer, flat);
		code_layer_unref(TAKE_PTR(layer->behind));
		layer->depth = 0;
	}
	code_layer_unref(flat);
	return r;
}

/* Returns a new layer in front of `behind`. NULL: no memory. */
static struct code_layer *in_front_of(struct code_layer *behind)
{
	struct code_layer *layer;

	if (behind->depth == DEPTH_MAX && code_layer_flatten(behind) < 0)
		return NULL;
	layer = code_layer_new(behind->cache);
	if (!layer)
		return NULL;
	layer->behind = code_layer_ref(behind);
	layer->depth = behind->depth + 1;
	return layer;
}

/* Gives the process a front layer that it shares with no other one. */
static int make_own(struct process_code *process)
{
	struct code_layer *own;

	if (process->layer && process->layer->refs == 1)
		return 0;
	own = process->layer ? in_front_of(process->layer) : code_layer_new(process->cache);
	if (!own)
		return -ENOMEM;
	code_layer_unref(process->layer);
	process->layer = own;
	return 0;
}

/* Returns whether the layers use at least parts/256 of the limit of a process (pieces or bytes). */
static bool has_parts(const struct code_layer *layer, size_t parts)
{
	size_t known = 0, bytes = 0;
	size_t bytes_max = layer ? layer->cache->bytes_max / SHELF_PART : 0;

	for (const struct code_layer *each = layer; each; each = each->behind) {
		known += map_count(each->slots);
		bytes += each->bytes;
	}
	return layer && (known >= SHELF_MAX / 256 * parts || bytes >= bytes_max / 256 * parts);
}

bool code_layer_is_full(const struct process_code *process)
{
	return process->cache->stats.bytes >= process->cache->bytes_max ||
	       has_parts(process->layer, 256);
}

int code_layer_add(struct process_code *process, const struct code_key *key, void *piece)
{
	struct code_cache *cache = process->cache;
	/* A layer takes room, too. */
	int r = code_layer_is_full(process) ? -ENOSPC : make_own(process);

	if (r < 0) {
		cache->kind->unref(piece);
		return r;
	}
	struct known_code *known = known_get(cache, piece);
	if (!known)
		return -ENOMEM;
	r = code_layer_put(process->layer, key, known, cache->window);
	process->layer->used = ++cache->uses;
	known_unref(cache, known);
	return r;
}

static bool is_much(const struct code_cache *cache)
{
	return cache->stats.bytes > cache->bytes_max / 4 * 3;
}

static size_t count_older(const struct code_layer *layer, uint64_t since)
{
	const struct code_key *key;
	const struct layer_slot *slot;
	size_t count = 0;

	map_each (layer->slots, pos, key, slot)
		count += slot->used < since;
	return count;
}

/* Drops pieces not used since that window, for all that share the layer. */
static void thin_out(struct code_layer *layer, uint64_t since)
{
	struct code_layer *thin;
	const struct code_key *key;
	const struct layer_slot *slot;
	int r = 0;

	if (!layer || layer->thinned >= since)
		return;
	layer->thinned = since;
	thin_out(layer->behind, since);
	if (!count_older(layer, since) || !(thin = code_layer_new(layer->cache)))
		return;
	map_each (layer->slots, pos, key, slot) {
		if (r >= 0 && slot->used >= since)
			r = code_layer_put(thin, key, slot->known, slot->used);
	}
	if (r >= 0)
		swap_slots(layer, thin);
	code_layer_unref(thin);
}

static bool goes_before(const struct code_layer *a, const struct code_layer *b)
{
	uint64_t swept = a->cache->uses_swept;

	if (a->used <= swept || b->used <= swept || a->bytes == b->bytes)
		return a->used < b->used;
	return a->bytes > b->bytes;
}

/* Returns the layer to be dropped first, or NULL if there is none. */
static struct code_layer *find_least(const struct code_cache *cache)
{
	struct code_layer *found = NULL;

	for (struct process_code *process = cache->processes; process; process = process->next) {
		if (process->layer && (!found || goes_before(process->layer, found)))
			found = process->layer;
	}
	return found;
}

static void code_layer_drop(struct code_cache *cache, const struct code_layer *layer)
{
	for (struct process_code *process = cache->processes; process; process = process->next) {
		if (process->layer == layer)
			code_layer_unref(TAKE_PTR(process->layer));
	}
}

void code_layers_sweep(struct code_cache *cache)
{
	struct code_layer *least;

	for (uint64_t back = 2; back-- > 0;) { /* windows before the current one */
		for (struct process_code *process = cache->processes; process;
		     process = process->next) {
			if (process->layer && (is_much(cache) || has_parts(process->layer, 192)))
				thin_out(process->layer, cache->window - back);
		}
	}
	while (is_much(cache) && (least = find_least(cache)))
		code_layer_drop(cache, least);
	cache->uses_swept = cache->uses;
	cache->window++;
}
