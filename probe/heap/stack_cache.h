/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of named stacks that live allocations may refer to, kept beyond their window. Its key is a
 * stack's key; its frames are a path in the cache's own tree, without frames of processes and
 * threads. Bounded; what finds no room is counted. Jobs of the bulk worker only, but for
 * statistics.
 *
 * When a window is named: stack_cache_begin(); for each stack stack_cache_see(), and if that is
 * false its frames go into stack_cache_tree(), then stack_cache_put().
 * When the live heap is read: stack_cache_hold() for each allocation; then stack_cache_purge().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/sample.h"
#include "stack/records.h"
#include "stack/tree.h"

struct stack_cache;

struct stack_cache_limits {
	size_t stacks, nodes, name_bytes;
};

struct cached_stack {
	uint32_t node;	       /* of the leaf frame, in stack_cache_tree() */
	bool own;	       /* an allocator mapped for itself: the stack is never shown */
	bool vms_own;	       /* all frames are a Java VM's: shown as [jvm] without native_stack */
	bool partial;	       /* some names were unknown: the next window may name it better */
	struct record_who who; /* without the container, which the holder knows better */
	/*
	 * Bits by frame: which lie in a library; which are shown only with native_stack (struct
	 * stack_detail). Borrowed until the next put or purge.
	 */
	struct record_libraries libraries, native_only;
};

/* Creates a cache; the caller owns *ret. Returns 0 or -ENOMEM. */
int stack_cache_new(struct stack_cache **ret, const struct stack_cache_limits *limits);
void stack_cache_free(struct stack_cache *stack_cache);

/* Begins a window. */
void stack_cache_begin(struct stack_cache *stack_cache);

/* Makes room for a window of that many stacks. Without memory room is made as they are put. */
void stack_cache_reserve(struct stack_cache *stack_cache, size_t stacks);

/* Notes that the stack occurs in this window. Returns true if it is known: nothing is to be put. */
bool stack_cache_see(struct stack_cache *stack_cache, const struct stack_key *key);

/* Returns the tree for frames, which go below TREE_ROOT, before stack_cache_put(). */
struct tree *stack_cache_tree(struct stack_cache *stack_cache);

/* Stores a copy of *stack. Returns 0, or -ENOSPC or -ENOMEM: it was refused and counted. */
int stack_cache_put(struct stack_cache *stack_cache, const struct stack_key *key,
		    const struct cached_stack *stack);

/* Counts a stack as refused whose frames found no room in the tree. */
void stack_cache_refuse(struct stack_cache *stack_cache);

/* Copies the entry to *stack. Returns false if the stack is unknown. */
bool stack_cache_get(const struct stack_cache *stack_cache, const struct stack_key *key,
		     struct cached_stack *stack);

/* Notes that the stack holds something, so that the next purge keeps it. False: it is unknown. */
bool stack_cache_hold(struct stack_cache *stack_cache, const struct stack_key *key);

/*
 * Drops stacks that hold nothing, except those of the last window: their allocations may not have
 * been reported yet.
 */
void stack_cache_purge(struct stack_cache *stack_cache);

/* Drops all stacks. */
void stack_cache_clear(struct stack_cache *stack_cache);

struct stack_cache_stats {
	uint64_t stacks, nodes; /* now */
	uint64_t refused;	/* stacks that found no room, since the start */
};
/* Copies the statistics. Any thread. */
void stack_cache_stats(const struct stack_cache *stack_cache, struct stack_cache_stats *stats);
