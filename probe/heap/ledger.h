/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ledger: the named frames of each stack that may hold something, beyond its window. A stack is
 * known by its key; its frames are a leaf in a tree of the ledger's own, which has no frames of
 * processes and threads.
 *
 *	a window is named:    ledger_begin(); ledger_see() of each stack, else its frames into
 *	                      ledger_tree() and ledger_put()
 *	what is held is read: ledger_hold() for each; ledger_purge()
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

struct ledger;

struct ledger_limits {
	size_t stacks, nodes, name_bytes;
};

struct ledger_stack {
	uint32_t node; /* where its frames end, in ledger_tree() */
	bool own;      /* an allocator mapped for itself: it is never shown */
	bool vms_own;  /* all of it is a Java VM's: without native_stack, [jvm] */
	bool partial;  /* the daemon knew too little of it: the next time it may be better */
	struct record_who who; /* without its container: who holds it knows it better */
	/* Borrowed until something is put or purged: which frames lie in a library, and which ones
	 * only who wants an interpreter's own stack sees (struct detail). */
	struct record_libraries libraries, native_only;
};

/* -ENOMEM */
int ledger_new(struct ledger **ret, const struct ledger_limits *limits);
void ledger_free(struct ledger *ledger);

/* A window's stacks come. */
void ledger_begin(struct ledger *ledger);

/* The stack came in this window. True: it is known, there is nothing to put. */
bool ledger_see(struct ledger *ledger, const struct stack_key *key);

/* Where frames are put, below TREE_ROOT, before ledger_put(). */
struct tree *ledger_tree(struct ledger *ledger);

/* Copies all. -ENOSPC, -ENOMEM: it was refused, and counted. */
int ledger_put(struct ledger *ledger, const struct stack_key *key,
	       const struct ledger_stack *stack);

/* Its frames found no room. */
void ledger_refuse(struct ledger *ledger);

/* False: it is unknown. */
bool ledger_get(const struct ledger *ledger, const struct stack_key *key,
		struct ledger_stack *stack);

/* Something of that stack is held: the next purge leaves it. False: it is unknown. */
bool ledger_hold(struct ledger *ledger, const struct stack_key *key);

/* Forgets stacks that hold nothing, but for those of the last window: what these hold may not have
 * been told yet. */
void ledger_purge(struct ledger *ledger);

/* Forgets all. */
void ledger_clear(struct ledger *ledger);

struct ledger_stats {
	uint64_t stacks, nodes; /* now */
	uint64_t refused;	/* stacks, since the start */
};
/* From any thread. */
void ledger_stats(const struct ledger *ledger, struct ledger_stats *stats);
