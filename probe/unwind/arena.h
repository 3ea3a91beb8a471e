/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who has which words of the arena (bpf/shared/packed.h). It grows by chunks up to a bound, and
 * shrinks when its last chunks are free. What is given back may still be read by a program that is
 * running, or be told to a process that forks just then: it is free only at the second
 * arena_settle().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* The arena's memory, one chunk after the other, from chunk 0. */
struct arena_memory {
	uint32_t *words; /* all chunks in a row; those that weren't added can't be touched */
	int (*add)(void *arg, unsigned chunk); /* zeroed. Negative errno */
	void (*remove)(void *arg, unsigned chunk);
	void *arg;
};

/* Word 0 is nobody's. -ENOMEM, -EINVAL no chunk fits in bytes_max */
int arena_new(struct arena **ret, const struct arena_memory *memory, size_t bytes_max);
/* Removes all chunks. */
void arena_free(struct arena *arena);

/* The first of `count` words in a row; where `whole`, all in one chunk and from a multiple of
 * SPAN_WORDS on, so that no span lies in two cache lines. -ENOSPC: no room in the
 * bound (or what has been given back isn't settled yet), -EINVAL: never, -ENOMEM, errno of adding a
 * chunk. All is as before then. */
int64_t arena_take(struct arena *arena, size_t count, bool whole);
/* All of what was taken at once. */
void arena_give(struct arena *arena, uint32_t start, size_t count);

/* No program runs any more that began before the last call, and all forks that were told of before
 * have been looked at: what had been given back then is free. */
void arena_settle(struct arena *arena);

/* Whether arena_take() would find room now; or will, once all that was given back is free. */
bool arena_has_room(const struct arena *arena, size_t count, bool whole);
bool arena_will_have_room(const struct arena *arena, size_t count, bool whole);

uint32_t *arena_words(struct arena *arena, uint32_t start);

struct arena_stats {
	uint64_t bytes, bytes_max; /* of chunks there are, and may be */
	uint64_t used, given;	   /* bytes: taken; given back and not settled */
};
void arena_stats(const struct arena *arena, struct arena_stats *stats);
