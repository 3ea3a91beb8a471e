/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose the stacks of a tree are: for each thread, and each CPU where these are told apart, what it
 * added to a node at which its stacks end. Bounded; made only as stacks come. Not safe for two
 * threads at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORD_NAME_BYTES 16

struct container;
struct records;

/* A thread, by its process and its names; the names need no NUL at their end. */
struct record_who {
	pid_t pid;
	uint64_t start_ticks; /* of the process; tells it from another with its pid */
	uint64_t netns_id;    /* of the process, as it was known last; 0: unknown */
	char process[RECORD_NAME_BYTES], thread[RECORD_NAME_BYTES];
	pid_t ns_pid;		     /* struct owner */
	struct container *container; /* the same, borrowed; records have references */
};

/* Which frames of a stack lie in a library and not in the program itself: bit n of byte n / 8 is
 * the n-th below process and thread, from 0. The tree doesn't tell these apart. */
struct record_libraries {
	const uint8_t *bits;
	size_t bytes; /* those behind are 0 */
};

/* What is counted together. */
struct record_key {
	uint32_t node; /* of the tree, where the stack ends */
	uint32_t who;  /* by records: a number for each struct record_who */
	uint32_t tid;
	uint16_t cpu;
	uint16_t libraries; /* by records: a number for each struct record_libraries */
};

struct record {
	struct record_key key;
	uint64_t weight;   /* in the tree's unit */
	uint64_t first_ns; /* when its stack was first seen */
	const struct record_who *who;
	struct record_libraries libraries;
};

/* Of `max` records; what merging adds may be as many again. -ENOMEM */
int records_new(struct records **ret, size_t max);
void records_free(struct records *records);
static inline void records_freep(struct records **records)
{
	records_free(*records);
}
#define _cleanup_records_ _cleanup_(records_freep)

/* `record->key.who` and `libraries` are found by `record->who` and `libraries`. -ENOSPC, -ENOMEM:
 * it was not added. */
int records_add(struct records *records, const struct record *record);

/* Adds those whose node has a number in `numbers` (tree_merge()), as that. -ENOSPC,
 * -ENOMEM: a part was added. */
int records_merge(struct records *into, const struct records *from, const uint32_t *numbers);

/* All of them, by who, stack, thread and CPU. *ret is the caller's to free and is void when
 * something is added. Returns their number, or -ENOMEM. */
int64_t records_list(const struct records *records, struct record **ret);
