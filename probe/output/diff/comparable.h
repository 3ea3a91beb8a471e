/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rewrites two folded texts so that the same code has the same names: processes are told by their
 * name without `[pid]`; lines and addresses are left out where the two profiles are of different
 * versions of a source file or module, or everywhere, or nowhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "output/diff/common.h"
#include "output/svg/stacks.h"

enum places_wish {
	PLACES_BY_VERSION, /* lines and addresses are left out where versions differ */
	PLACES_KEEP,
	PLACES_DROP,
};

struct comparable {
	struct buf texts[2];   /* by side, with STACKS_PADDING zeros behind; owned */
	bool has_pids;	       /* a process had `[pid]`: stackprobe wrote the text */
	size_t versions;       /* files and modules that are of two versions */
	struct common *common; /* what the two have in common; owned */
};

/* Fills *ret from `stacks`, which has both texts. Returns 0 or -ENOMEM. In both cases
 * comparable_done() frees it. */
int comparable_make(struct comparable *ret, const struct stacks *stacks, enum places_wish places);
void comparable_done(struct comparable *comparable);
#define _cleanup_comparable_ _cleanup_(comparable_done)
