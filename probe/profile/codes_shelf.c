// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/codes_state.h"

#define SLOT_BYTES 64 /* of the map, about */
#define DEPTH_MAX  4  /* shelves behind one another: then they become one */

static void known_unref(struct codes *codes, struct known_code *known)
{
	if (--known->refs)
		return;
	codes->stats.known--;
	codes->stats.bytes -= known->bytes;
	codes->kind->unref(known->piece);
	free(known);
}

static struct shelf *shelf_new(struct codes *codes)
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

static int put(struct shelf *shelf, const struct code_key *key, struct known_code *known,
	       uint64_t used)
{
	struct shelf_slot *slot = NULL;
	int r = map_put(shelf->slots, key, (void **)&slot);

	if (r < 0 || !slot)
		return r < 0 ? r : -ENOMEM;
	known->refs++;
	if (r == 0) /* read again */
		known_unref(shelf->codes, slot->known);
	else
		shelf->codes->stats.bytes += SLOT_BYTES;
	shelf->known += (size_t)r;
	*slot = (struct shelf_slot){known, used};
	return 0;
}

/* Puts all there that `from` and those behind it have, the foremost last. */
static int put_all(struct shelf *shelf, const struct shelf *from)
{
	const struct code_key *key;
	const struct shelf_slot *slot;
	int r = from->behind ? put_all(shelf, from->behind) : 0;

	map_each (from->slots, pos, key, slot) {
		if (r >= 0)
			r = put(shelf, key, slot->known, slot->used);
	}
	return r < 0 ? r : 0;
}

static void swap_slots(struct shelf *a, struct shelf *b)
{
	struct map *slots = a->slots;

	a->slots = b->slots;
	b->slots = slots;
}

/* All in one, for all that have it. */
static int flatten(struct shelf *shelf)
{
	struct shelf *flat = shelf_new(shelf->codes);
	int r = flat ? put_all(flat, shelf) : -ENOMEM;

	if (r == 0) {
		swap_slots(shelf, flat);
		shelf_unref(TAKE_PTR(shelf->behind));
		shelf->depth = 0;
		shelf->known = map_count(shelf->slots);
	}
	shelf_unref(flat);
	return r;
}

/* NULL: no memory. */
static struct shelf *in_front_of(struct shelf *behind)
{
	struct shelf *shelf;

	if (behind->depth == DEPTH_MAX && flatten(behind) < 0)
		return NULL;
	shelf = shelf_new(behind->codes);
	if (!shelf)
		return NULL;
	shelf->behind = shelf_ref(behind);
	shelf->depth = behind->depth + 1;
	shelf->known = behind->known;
	return shelf;
}

/* One that is nobody else's. */
static int make_own(struct codebook *book)
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

bool shelf_is_full(const struct codebook *book)
{
	return book->codes->stats.bytes >= book->codes->bytes_max ||
	       (book->shelf && book->shelf->known >= SHELF_MAX);
}

int shelf_add(struct codebook *book, const struct code_key *key, void *piece)
{
	struct codes *codes = book->codes;
	struct known_code *known = calloc(1, sizeof(*known));
	int r = known ? 0 : -ENOMEM;

	if (r == 0 && shelf_is_full(book)) /* a shelf of its own takes room, too */
		r = -ENOSPC;
	if (r == 0)
		r = make_own(book);
	if (r < 0) {
		free(known);
		codes->kind->unref(piece);
		return r;
	}
	*known = (struct known_code){
		.refs = 1, .piece = piece, .bytes = codes->kind->bytes(piece) + sizeof(*known)};
	codes->stats.known++;
	codes->stats.bytes += known->bytes;
	r = put(book->shelf, key, known, codes->window);
	book->shelf->used = ++codes->uses;
	known_unref(codes, known);
	return r;
}

static bool is_much(const struct codes *codes)
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

/* What was used since that window stays, for all that have the shelf. */
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
	shelf->known = map_count(shelf->slots) + (shelf->behind ? shelf->behind->known : 0);
	if (!count_older(shelf, since) || !(thin = shelf_new(shelf->codes)))
		return;
	map_each (shelf->slots, pos, key, slot) {
		if (r >= 0 && slot->used >= since)
			r = put(thin, key, slot->known, slot->used);
	}
	if (r >= 0) {
		swap_slots(shelf, thin);
		shelf->known -= map_count(thin->slots) - map_count(shelf->slots);
	}
	shelf_unref(thin);
}

/* The shelf that wasn't used for longest; NULL: there is none. */
static struct shelf *oldest(const struct codes *codes)
{
	struct shelf *found = NULL;

	for (struct codebook *book = codes->books; book; book = book->next) {
		if (book->shelf && (!found || book->shelf->used < found->used))
			found = book->shelf;
	}
	return found;
}

static void drop(struct codes *codes, const struct shelf *shelf)
{
	for (struct codebook *book = codes->books; book; book = book->next) {
		if (book->shelf == shelf)
			shelf_unref(TAKE_PTR(book->shelf));
	}
}

void shelves_sweep(struct codes *codes)
{
	struct shelf *least;

	for (uint64_t back = 2; back-- > 0;) { /* windows before the one that ends */
		for (struct codebook *book = codes->books; book; book = book->next) {
			if (book->shelf &&
			    (is_much(codes) || book->shelf->known > SHELF_MAX / 4 * 3))
				thin_out(book->shelf, codes->window - back);
		}
	}
	while (is_much(codes) && (least = oldest(codes)))
		drop(codes, least);
	codes->window++;
}
