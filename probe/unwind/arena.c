// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Free ranges ("stretches") are sorted by address; adjacent ones are merged. A run of words that is
 * taken isn't remembered: its user gives it back as it was taken.
 *
 * arena_give() needs no memory: there are never more stretches, free and given, than taken runs and
 * one more between each two, and arena_take() reserves memory for so many.
 */
#include "unwind/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "bpf/shared/packed.h"

#define CHUNK_BYTES (CHUNK_WORDS * sizeof(uint32_t))

struct stretch {
	uint64_t start, end;
};

struct stretches {
	struct stretch *each;
	size_t count, capacity;
};

struct arena {
	struct arena_memory memory;
	unsigned chunks, chunks_max;
	struct stretches free;	/* sorted by address; none touches the next */
	struct stretches given; /* in the order in which they were given back */
	size_t settling;	/* the first so many of `given` have seen one arena_settle() */
	size_t runs;		/* runs that are taken */
	uint64_t used, given_words;
};

int arena_new(struct arena **ret, const struct arena_memory *memory, size_t bytes_max)
{
	size_t chunks = bytes_max / CHUNK_BYTES;

	if (!chunks)
		return -EINVAL;
	struct arena *arena = calloc(1, sizeof(*arena));
	if (!arena)
		return -ENOMEM;
	arena->memory = *memory;
	arena->chunks_max = chunks < CHUNKS_MAX ? (unsigned)chunks : CHUNKS_MAX;
	*ret = arena;
	return 0;
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	while (arena->chunks)
		arena->memory.remove(arena->memory.arg, --arena->chunks);
	free(arena->free.each);
	free(arena->given.each);
	free(arena);
}

static uint64_t words_of(unsigned chunks)
{
	return (uint64_t)chunks << CHUNK_WORDS_SHIFT;
}

static int reserve_stretches(struct stretches *stretches, size_t count)
{
	if (count <= stretches->capacity)
		return 0;
	size_t capacity = count * 2;
	struct stretch *each = reallocarray(stretches->each, capacity, sizeof(*each));
	if (!each)
		return -ENOMEM;
	stretches->each = each;
	stretches->capacity = capacity;
	return 0;
}

/* Reserves memory for the stretches that can come when one more run is taken and all are given
 * back. */
static int reserve_for_one_more(struct arena *arena)
{
	size_t most = arena->runs + arena->given.count + 3;
	int r = reserve_stretches(&arena->free, most);

	return r < 0 ? r : reserve_stretches(&arena->given, most);
}

/* Returns where `count` words can begin in a stretch that begins at `start`. */
static uint64_t place_in(uint64_t start, size_t count, bool whole)
{
	if (!whole)
		return start;
	start = (start + SPAN_WORDS - 1) & ~(uint64_t)(SPAN_WORDS - 1);
	if (start % CHUNK_WORDS + count > CHUNK_WORDS)
		start = (start + CHUNK_WORDS - 1) & ~(uint64_t)(CHUNK_WORDS - 1);
	return start;
}

static void insert_stretch(struct stretches *spare, size_t at, struct stretch stretch)
{
	memmove(spare->each + at + 1, spare->each + at, (spare->count - at) * sizeof(stretch));
	spare->each[at] = stretch;
	spare->count++;
}

static void erase_stretch(struct stretches *spare, size_t at)
{
	spare->count--;
	memmove(spare->each + at, spare->each + at + 1,
		(spare->count - at) * sizeof(struct stretch));
}

/* Returns the number of the first stretch that ends behind the word. */
static size_t find_stretch(const struct stretches *spare, uint64_t word)
{
	return PARTITION_POINT(at, spare->count, spare->each[at].end <= word);
}

static void put_back(struct stretches *spare, struct stretch stretch)
{
	size_t at = find_stretch(spare, stretch.start);

	if (at > 0 && spare->each[at - 1].end == stretch.start) {
		stretch.start = spare->each[--at].start;
		erase_stretch(spare, at);
	}
	if (at < spare->count && spare->each[at].start == stretch.end) {
		stretch.end = spare->each[at].end;
		erase_stretch(spare, at);
	}
	insert_stretch(spare, at, stretch);
}

/* Returns the smallest stretch in which the words fit, of several the lowest; spare->count: none.
 */
static size_t best_stretch(const struct stretches *spare, size_t count, bool whole)
{
	size_t found = spare->count;
	uint64_t smallest = UINT64_MAX;

	for (size_t i = 0; i < spare->count; i++) {
		const struct stretch *each = &spare->each[i];
		uint64_t words = each->end - each->start;

		if (words < smallest && place_in(each->start, count, whole) + count <= each->end) {
			found = i;
			smallest = words;
		}
	}
	return found;
}

/* Returns where the free words at the arena's end begin. */
static uint64_t used_end(const struct arena *arena)
{
	const struct stretches *spare = &arena->free;
	uint64_t end = words_of(arena->chunks);

	if (!arena->chunks)
		return 1; /* word 0 is never taken */
	return spare->count && spare->each[spare->count - 1].end == end
		       ? spare->each[spare->count - 1].start
		       : end;
}

static void shrink_arena(struct arena *arena)
{
	struct stretches *spare = &arena->free;
	uint64_t from = used_end(arena);

	while (arena->chunks) {
		uint64_t start = words_of(arena->chunks - 1);

		if (start + (start == 0) < from)
			break;
		arena->memory.remove(arena->memory.arg, --arena->chunks);
	}
	uint64_t end = words_of(arena->chunks);
	if (spare->count && spare->each[spare->count - 1].end > end) {
		spare->each[spare->count - 1].end = end;
		if (spare->each[spare->count - 1].start >= end)
			spare->count--;
	}
}

/* Adds chunks until the words fit at the arena's end. */
static int grow_arena(struct arena *arena, size_t count, bool whole)
{
	uint64_t end = place_in(used_end(arena), count, whole) + count;
	int r = 0;

	if (end > words_of(arena->chunks_max))
		return -ENOSPC;
	while (r == 0 && words_of(arena->chunks) < end) {
		uint64_t start = words_of(arena->chunks);

		r = arena->memory.add(arena->memory.arg, arena->chunks);
		if (r < 0)
			break;
		arena->chunks++;
		put_back(&arena->free, (struct stretch){start + (start == 0), start + CHUNK_WORDS});
	}
	if (r < 0)
		shrink_arena(arena);
	return r;
}

/* Takes [start, start + count) out of a stretch. */
static void carve_words(struct stretches *spare, size_t at, uint64_t start, size_t count)
{
	struct stretch *each = &spare->each[at];
	struct stretch behind = {start + count, each->end};

	each->end = start;
	if (behind.start < behind.end)
		insert_stretch(spare, at + 1, behind);
	if (spare->each[at].start == spare->each[at].end)
		erase_stretch(spare, at);
}

int64_t arena_take(struct arena *arena, size_t count, bool whole)
{
	if (count == 0 || (whole && count > CHUNK_WORDS) || count > words_of(arena->chunks_max) ||
	    place_in(1, count, whole) + count > words_of(arena->chunks_max))
		return -EINVAL;
	int r = reserve_for_one_more(arena);
	if (r < 0)
		return r;
	size_t at = best_stretch(&arena->free, count, whole);
	if (at == arena->free.count) {
		r = grow_arena(arena, count, whole);
		if (r < 0)
			return r;
		at = arena->free.count - 1;
	}
	uint64_t start = place_in(arena->free.each[at].start, count, whole);
	carve_words(&arena->free, at, start, count);
	arena->runs++;
	arena->used += count;
	return (int64_t)start;
}

void arena_give(struct arena *arena, uint32_t start, size_t count)
{
	arena->given.each[arena->given.count++] = (struct stretch){start, start + (uint64_t)count};
	arena->runs--;
	arena->used -= count;
	arena->given_words += count;
}

void arena_settle(struct arena *arena)
{
	size_t free = arena->settling, left = arena->given.count - free;
	struct stretch *given = arena->given.each;

	for (size_t i = 0; i < free; i++) {
		put_back(&arena->free, given[i]);
		arena->given_words -= given[i].end - given[i].start;
	}
	if (free)
		memmove(given, given + free, left * sizeof(*given));
	arena->given.count = arena->settling = left;
	shrink_arena(arena);
}

static bool words_fit(const struct arena *arena, uint64_t start, uint64_t end, size_t count,
		      bool whole)
{
	if (end == words_of(arena->chunks))
		end = words_of(arena->chunks_max);
	return place_in(start, count, whole) + count <= end;
}

bool arena_has_room(const struct arena *arena, size_t count, bool whole)
{
	return best_stretch(&arena->free, count, whole) < arena->free.count ||
	       words_fit(arena, used_end(arena), words_of(arena->chunks), count, whole);
}

static int by_start(const void *a, const void *b)
{
	const struct stretch *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

bool arena_will_have_room(const struct arena *arena, size_t count, bool whole)
{
	size_t free_count = arena->free.count, total = free_count + arena->given.count;
	_cleanup_free_ struct stretch *all = calloc(total + 1, sizeof(*all));
	struct stretch row = {used_end(arena), words_of(arena->chunks)};

	if (!all || arena_has_room(arena, count, whole))
		return arena_has_room(arena, count, whole);
	if (free_count)
		memcpy(all, arena->free.each, free_count * sizeof(*all));
	if (total > free_count)
		memcpy(all + free_count, arena->given.each, arena->given.count * sizeof(*all));
	qsort(all, total, sizeof(*all), by_start);
	for (size_t i = 0; i < total; i++) {
		if (i > 0 && all[i].start == row.end)
			row.end = all[i].end;
		else
			row = all[i];
		if (words_fit(arena, row.start, row.end, count, whole))
			return true;
	}
	return false;
}

uint32_t *arena_words(struct arena *arena, uint32_t start)
{
	return arena->memory.words + start;
}

void arena_stats(const struct arena *arena, struct arena_stats *stats)
{
	*stats = (struct arena_stats){
		.bytes = words_of(arena->chunks) * sizeof(uint32_t),
		.bytes_max = words_of(arena->chunks_max) * sizeof(uint32_t),
		.used = arena->used * sizeof(uint32_t),
		.given = arena->given_words * sizeof(uint32_t),
	};
}
