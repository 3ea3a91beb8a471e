// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "code/code_cache_state.h"

#define SLOT_BYTES 64 /* cost of a map's slot, about */
#define DEPTH_MAX  4  /* most layers behind a shelf; then they are merged */

static struct shelf *shelf_new(struct code_cache *codes)
{
	_cleanup_free_ struct shelf *shelf = calloc(1, sizeof(*shelf));

	if (!shelf || map_new(&shelf->slots, sizeof(struct code_key), sizeof(struct shelf_slot),
			      SHELF_MAX) < 0)
		return NULL;
	shelf->refs = 1;
	shelf->codes = codes;
	return TAKE_PTR(shelf);
}

struct shelf *shelf_ref(struct shelf *shelf)
{
	if (shelf)
		shelf->refs++;
	return shelf;
}

void shelf_unref(struct shelf *shelf)
{
	const struct code_key *key;
	struct shelf_slot *slot;

	if (!shelf || --shelf->refs)
		return;
	map_each (shelf->slots, pos, key, slot)
		known_unref(shelf->codes, slot->known);
	shelf->codes->stats.bytes -= map_count(shelf->slots) * SLOT_BYTES;
	map_free(shelf->slots);
	shelf_unref(shelf->behind); /* DEPTH_MAX at most */
	free(shelf);
}

struct known_code *shelf_find(struct shelf *shelf, const struct code_key *key)
{
	for (; shelf; shelf = shelf->behind) {
		struct shelf_slot *slot = map_get(shelf->slots, key);

		shelf->used = ++shelf->codes->uses;
		if (!slot)
			continue;
		slot->used = shelf->codes->window;
		return slot->known;
	}
	return NULL;
}

static int shelf_put(struct shelf *shelf, const struct code_key *key, struct known_code *known,
		     uint64_t used)
{
	struct shelf_slot *slot = NULL;
	int r = map_put(shelf->slots, key, (void **)&slot);

	if (r < 0 || !slot)
		return r < 0 ? r : -ENOMEM;
	known->refs++;
	if (r == 0) { /* read again */
		shelf->bytes -= slot->known->bytes;
		known_unref(shelf->codes, slot->known);
	} else {
		shelf->bytes += SLOT_BYTES;
		shelf->codes->stats.bytes += SLOT_BYTES;
	}
	shelf->bytes += known->bytes;
	*slot = (struct shelf_slot){known, used};
	return 0;
}

/* Copies the slots of `from` and of the layers behind it; the front layer's slots win. */
static int put_all(struct shelf *shelf, const struct shelf *from)
{
	const struct code_key *key;
	const struct shelf_slot *slot;
	int r = from->behind ? put_all(shelf, from->behind) : 0;

	map_each (from->slots, pos, key, slot) {
		if (r >= 0)
			r = shelf_put(shelf, key, slot->known, slot->used);
	}
	return r < 0 ? r : 0;
}

static void swap_slots(struct shelf *a, struct shelf *b)
{
	struct map *slots = a->slots;
	size_t bytes = a->bytes;

	a->slots = b->slots;
	a->bytes = b->bytes;
	b->slots = slots;
	b->bytes = bytes;
}

/* Merges the layers into one, for all that share the shelf. */
static int shelf_flatten(struct shelf *shelf)
{
	struct shelf *flat = shelf_new(shelf->codes);
	int r = flat ? put_all(flat, shelf) : -ENOMEM;

	if (r == 0) {
		swap_slots(shelf, flat);
		shelf_unref(TAKE_PTR(shelf->behind));
		shelf->depth = 0;
	}
	shelf_unref(flat);
	return r;
}

/* Returns a new layer in front of `behind`. NULL: no memory. */
static struct shelf *in_front_of(struct shelf *behind)
{
	struct shelf *shelf;

	if (behind->depth == DEPTH_MAX && shelf_flatten(behind) < 0)
		return NULL;
	shelf = shelf_new(behind->codes);
	if (!shelf)
		return NULL;
	shelf->behind = shelf_ref(behind);
	shelf->depth = behind->depth + 1;
	return shelf;
}

/* Gives the process a front layer that it shares with no other one. */
static int make_own(struct process_code *book)
{
	struct shelf *own;

	if (book->shelf && book->shelf->refs == 1)
		return 0;
	own = book->shelf ? in_front_of(book->shelf) : shelf_new(book->codes);
	if (!own)
		return -ENOMEM;
	shelf_unref(book->shelf);
	book->shelf = own;
	return 0;
}

/* Returns whether the layers use at least parts/256 of the limit of a process (pieces or bytes). */
static bool has_parts(const struct shelf *shelf, size_t parts)
{
	size_t known = 0, bytes = 0;
	size_t bytes_max = shelf ? shelf->codes->bytes_max / SHELF_PART : 0;

	for (const struct shelf *each = shelf; each; each = each->behind) {
		known += map_count(each->slots);
		bytes += each->bytes;
	}
	return shelf && (known >= SHELF_MAX / 256 * parts || bytes >= bytes_max / 256 * parts);
}

bool shelf_is_full(const struct process_code *book)
{
	return book->codes->stats.bytes >= book->codes->bytes_max || has_parts(book->shelf, 256);
}

int shelf_add(struct process_code *book, const struct code_key *key, void *piece)
{
	struct code_cache *codes = book->codes;
	/* A layer takes room, too. */
	int r = shelf_is_full(book) ? -ENOSPC : make_own(book);

	if (r < 0) {
		codes->kind->unref(piece);
		return r;
	}
	struct known_code *known = known_get(codes, piece);
	if (!known)
		return -ENOMEM;
	r = shelf_put(book->shelf, key, known, codes->window);
	book->shelf->used = ++codes->uses;
	known_unref(codes, known);
	return r;
}

static bool is_much(const struct code_cache *codes)
{
	return codes->stats.bytes > codes->bytes_max / 4 * 3;
}

static size_t count_older(const struct shelf *shelf, uint64_t since)
{
	const struct code_key *key;
	const struct shelf_slot *slot;
	size_t count = 0;

	map_each (shelf->slots, pos, key, slot)
		count += slot->used < since;
	return count;
}

/* Drops pieces not used since that window, for all that share the shelf. */
static void thin_out(struct shelf *shelf, uint64_t since)
{
	struct shelf *thin;
	const struct code_key *key;
	const struct shelf_slot *slot;
	int r = 0;

	if (!shelf || shelf->thinned >= since)
		return;
	shelf->thinned = since;
	thin_out(shelf->behind, since);
	if (!count_older(shelf, since) || !(thin = shelf_new(shelf->codes)))
		return;
	map_each (shelf->slots, pos, key, slot) {
		if (r >= 0 && slot->used >= since)
			r = shelf_put(thin, key, slot->known, slot->used);
	}
	if (r >= 0)
		swap_slots(shelf, thin);
	shelf_unref(thin);
}

static bool goes_before(const struct shelf *a, const struct shelf *b)
{
	uint64_t swept = a->codes->uses_swept;

	if (a->used <= swept || b->used <= swept || a->bytes == b->bytes)
		return a->used < b->used;
	return a->bytes > b->bytes;
}

/* Returns the shelf to be dropped first, or NULL if there is none. */
static struct shelf *find_least(const struct code_cache *codes)
{
	struct shelf *found = NULL;

	for (struct process_code *book = codes->books; book; book = book->next) {
		if (book->shelf && (!found || goes_before(book->shelf, found)))
			found = book->shelf;
	}
	return found;
}

static void shelf_drop(struct code_cache *codes, const struct shelf *shelf)
{
	for (struct process_code *book = codes->books; book; book = book->next) {
		if (book->shelf == shelf)
			shelf_unref(TAKE_PTR(book->shelf));
	}
}

void shelves_sweep(struct code_cache *codes)
{
	struct shelf *least;

	for (uint64_t back = 2; back-- > 0;) { /* windows before the current one */
		for (struct process_code *book = codes->books; book; book = book->next) {
			if (book->shelf && (is_much(codes) || has_parts(book->shelf, 192)))
				thin_out(book->shelf, codes->window - back);
		}
	}
	while (is_much(codes) && (least = find_least(codes)))
		shelf_drop(codes, least);
	codes->uses_swept = codes->uses;
	codes->window++;
}
