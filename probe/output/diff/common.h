/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much two profiles have in common: of the weight of each process's name and of each leaf's
 * name the smaller of the two shares counts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "output/svg/stacks.h"

enum common_kind { COMMON_PROCESSES, COMMON_LEAVES, COMMON_KINDS };

struct common;

/* Returns 0 or -ENOMEM; the caller owns *ret. */
int common_new(struct common **ret);
void common_free(struct common *common);

/* Tells the weight of a name. Returns 0 or -ENOMEM. */
int common_add(struct common *common, enum common_kind kind, enum stacks_side side, uint64_t weight,
	       const char *name, size_t len);

/* Returns how much of the weight told so far is common, in percent; 100 if nothing was told. */
unsigned common_percent(const struct common *common, enum common_kind kind);

/* Adds the names with the most weight that the other side lacks: "`a` (40 %), `b` (10 %)"; or
 * nothing. */
void common_lacking(const struct common *common, enum common_kind kind, enum stacks_side side,
		    struct buf *out);
