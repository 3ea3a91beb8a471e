/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Life cycle of a target, and of its inspections. An incarnation (target/target_table.h) is in one
 * state:
 *
 *	NEW        not in the table yet
 *	UNDECIDED  lives; its command line or its container's names are still to be matched
 *	WANTED     lives, and somebody wants it
 *	LEFT       has ended while UNDECIDED: the answer still decides on its stacks
 *	ENDED      has ended, or nobody wants it any more; what was sampled until then is wanted
 *	REJECTED   has ended, or never matched: its stacks are dropped
 *
 *	NEW        -> UNDECIDED, WANTED   fork, exec, rename, or found by a scan
 *	           -> gone                nobody can want it: the table notes its id, if at all
 *	UNDECIDED  -> WANTED              it matches, or a subscriber chose it
 *	           -> REJECTED            it doesn't match
 *	           -> ENDED               it doesn't match; an earlier selection wanted it
 *	           -> LEFT                exit, exec, rename
 *	WANTED     -> UNDECIDED           the selection or its container's names changed
 *	           -> ENDED               exit, exec, rename; nobody wants it any more
 *	LEFT       -> ENDED, REJECTED     as from UNDECIDED
 *	           -> gone                its last window was read, and no inspection runs
 *	ENDED      -> gone                likewise
 *	REJECTED   -> gone                likewise
 *
 * Its inspections, one at a time, are in one state:
 *
 *	IDLE       none runs, the next one may
 *	RUNNING    one runs
 *	LAST       one runs; another job that read the process hung, so no other one follows
 *	HUNG       none runs, and none follows: reading the process takes too long
 *
 *	IDLE       -> RUNNING             submitted
 *	           -> HUNG                another job hung; or the process hung under another id
 *	RUNNING    -> IDLE                its result came, or the worker refused it
 *	           -> LAST                another job hung
 *	           -> HUNG                it was given up
 *	LAST       -> HUNG                its result came, or it was given up
 */
#pragma once

#include <stdbool.h>

enum target_state {
	TARGET_NEW,
	TARGET_UNDECIDED,
	TARGET_WANTED,
	TARGET_LEFT,
	TARGET_ENDED,
	TARGET_REJECTED
};

enum target_inspection { INSPECTION_IDLE, INSPECTION_RUNNING, INSPECTION_LAST, INSPECTION_HUNG };

/* Returns the state of a process that lives. */
static inline enum target_state target_state_of(bool is_undecided)
{
	return is_undecided ? TARGET_UNDECIDED : TARGET_WANTED;
}

/* Returns the state after the end of an incarnation, or of the wish for it. */
static inline enum target_state target_state_ended(enum target_state state)
{
	if (state == TARGET_UNDECIDED)
		return TARGET_LEFT;
	return state == TARGET_WANTED ? TARGET_ENDED : state;
}

/* Returns the state of inspections after one has ended; `is_hung`: it was given up. */
static inline enum target_inspection target_inspection_ended(enum target_inspection inspection,
							     bool is_hung)
{
	return is_hung || inspection == INSPECTION_LAST ? INSPECTION_HUNG : INSPECTION_IDLE;
}

/* Returns the state of inspections after another job that reads the process hung. */
static inline enum target_inspection target_inspection_barred(enum target_inspection inspection)
{
	return inspection == INSPECTION_RUNNING || inspection == INSPECTION_LAST ? INSPECTION_LAST
										 : INSPECTION_HUNG;
}
