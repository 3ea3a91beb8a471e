/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A large tree within a number of nodes: what is light becomes a frame `[rest]` of what it lies
 * below, with its exact weight. One thread at a time. */
#pragma once

#include "stack/tree.h"

#define FRAME_REST "[rest]"

/*
 * Copies a tree into one of at most `max_nodes` nodes: of subtrees the lightest are put together,
 * below each node in one marker `[rest]`. Returns 0, -ENOMEM, or -ENOSPC: `max_nodes` is too few
 * for the root and its `[rest]`. The caller owns *ret.
 */
int tree_within(struct tree **ret, const struct tree *from, size_t max_nodes,
		size_t max_name_bytes);
