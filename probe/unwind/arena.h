/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocator of the words of the arena (bpf/shared/packed.h), the kernel memory of unwind tables.
 * The arena grows by chunks up to a bound, and shrinks when its last chunks are free. Words that
 * are given back may still be read by a running BPF program, or be inherited by a process that
 * forks just then: so they are free only at the second arena_settle(). Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* The arena's memory. Chunks are added in order, from chunk 0, and removed from the last. */
struct arena_memory {
	uint32_t *words; /* all chunks in a row; only added chunks may be touched */
	int (*add)(void *arg, unsigned chunk); /* adds a zeroed chunk; 0 or a negative errno */
	void (*remove)(void *arg, unsigned chunk);
	void *arg;
};

/* Returns 0, -ENOMEM, or -EINVAL if no chunk fits in bytes_max. Word 0 is never taken. */
int arena_new(struct arena **ret, const struct arena_memory *memory, size_t bytes_max);
/* Removes all chunks. */
void arena_free(struct arena *arena);

/*
 * Takes `count` words in a row and returns the number of the first word. With `whole` all words are
 * in one chunk and begin at a multiple of SPAN_WORDS, so that no span lies in two cache lines.
 * Negative errno: -ENOSPC if there is no room (or words given back aren't settled yet); -EINVAL if
 * there will never be room; -ENOMEM; an errno of adding a chunk. Then nothing has changed.
 */
int64_t arena_take(struct arena *arena, size_t count, bool whole);
/* Gives back words, exactly as one arena_take() took them. Needs no memory. */
void arena_give(struct arena *arena, uint32_t start, size_t count);

/* Frees the words that were given back before the last call. Call this when no BPF program runs any
 * more that began before the last call, and all forks reported before it have been handled. */
void arena_settle(struct arena *arena);

/* Return whether arena_take() would find room now; or will, once all that was given back is free.
 */
bool arena_has_room(const struct arena *arena, size_t count, bool whole);
bool arena_will_have_room(const struct arena *arena, size_t count, bool whole);

/* Returns a pointer to word number `start`. */
uint32_t *arena_words(struct arena *arena, uint32_t start);

struct arena_stats {
	uint64_t bytes, bytes_max; /* of the chunks; of the most chunks that there may be */
	uint64_t used, given;	   /* bytes that are taken; that are given back, not settled */
};
void arena_stats(const struct arena *arena, struct arena_stats *stats);
