/* SPDX-License-Identifier: GPL-2.0-only */
/* What profile/batch.c (collects, on the loop's thread) and batch_name.c (names, on the bulk
 * worker) share. Nobody else includes it. */
#pragma once

#include "base/map.h"
#include "profile/batch.h"

struct batch_stack {
	struct record_who who;
	uint32_t tid, cpu;
	enum count_part part;
	uint64_t time_ns;
	const struct symbol_file *program; /* to compare with, no reference; NULL: unknown */
	struct stack_key key;
	uint32_t subscribers;  /* 0: it is for the ledger only */
	uint32_t frames_count; /* leaf first, behind those of the stack before */
	enum truncation truncated;
	struct stack_count count;
};

/* A place in code that frames of the batch have: named once for all of them. */
struct spot {
	struct code code; /* with a reference to its file */
	struct named named;
	size_t name, len; /* in the batch's text */
};

struct spot_key {
	uint64_t file, address, place;
};

struct batch {
	struct batch_stack *stacks;
	size_t count, capacity;
	uint32_t *frames; /* numbers of spots */
	size_t frames_count, frames_capacity;
	struct spot *spots;
	size_t spots_count, spots_capacity;
	struct map *spot_numbers; /* struct spot_key -> uint32_t */
	struct buf text;	  /* names of spots */
	struct sink *sinks;
	size_t sinks_count;
};
