/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack cache: the named frames of each stack that may hold something, beyond its window. A
 * stack is known by its key; its frames are a leaf in a tree of the stack cache's own, which has no
 * frames of processes and threads.
 *
 *	a window is named:    stack_cache_begin(); stack_cache_see() of each stack, else its frames
 * into stack_cache_tree() and stack_cache_put() what is held is read: stack_cache_hold() for each;
 * stack_cache_purge()
 *
 * Bounded; what finds no room is counted. On the bulk worker alone, but for the statistics.
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
	uint32_t node; /* where its frames end, in stack_cache_tree() */
	bool own;      /* an allocator mapped for itself: it is never shown */
	bool vms_own;  /* all of it is a Java VM's: without native_stack, [jvm] */
	bool partial;  /* the daemon knew too little of it: the next time it may be better */
	struct record_who who; /* without its container: who holds it knows it better */
	/* Borrowed until something is put or purged: which frames lie in a library, and which ones
	 * only who wants an interpreter's own stack sees (struct stack_detail). */
	struct record_libraries libraries, native_only;
};

/* -ENOMEM */
int stack_cache_new(struct stack_cache **ret, const struct stack_cache_limits *limits);
void stack_cache_free(struct stack_cache *stack_cache);

/* A window's stacks come. */
void stack_cache_begin(struct stack_cache *stack_cache);

/* The stack came in this window. True: it is known, there is nothing to put. */
bool stack_cache_see(struct stack_cache *stack_cache, const struct stack_key *key);

/* Where frames are put, below TREE_ROOT, before stack_cache_put(). */
struct tree *stack_cache_tree(struct stack_cache *stack_cache);

/* Copies all. -ENOSPC, -ENOMEM: it was refused, and counted. */
int stack_cache_put(struct stack_cache *stack_cache, const struct stack_key *key,
		    const struct cached_stack *stack);

/* Its frames found no room. */
void stack_cache_refuse(struct stack_cache *stack_cache);

/* False: it is unknown. */
bool stack_cache_get(const struct stack_cache *stack_cache, const struct stack_key *key,
		     struct cached_stack *stack);

/* Something of that stack is held: the next purge leaves it. False: it is unknown. */
bool stack_cache_hold(struct stack_cache *stack_cache, const struct stack_key *key);

/* Forgets stacks that hold nothing, but for those of the last window: what these hold may not have
 * been told yet. */
void stack_cache_purge(struct stack_cache *stack_cache);

/* Forgets all. */
void stack_cache_clear(struct stack_cache *stack_cache);

struct stack_cache_stats {
	uint64_t stacks, nodes; /* now */
	uint64_t refused;	/* stacks, since the start */
};
/* From any thread. */
void stack_cache_stats(const struct stack_cache *stack_cache, struct stack_cache_stats *stats);
