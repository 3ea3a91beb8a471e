/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who added which weight to a tree: a table of records, each the weight that one thread (on one
 * CPU, if CPUs are told apart) added to one node, at which its stacks end. Bounded; grows as stacks
 * come. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/shared/sample.h"

#define RECORD_NAME_BYTES 16

struct container;
struct records;

/* The process and the names of a thread; the names need no NUL. */
struct record_who {
	pid_t pid;
	uint64_t start_ticks; /* the process's start: tells processes with the same pid apart */
	uint64_t netns_id;    /* the process's network namespace, last known; 0: not known */
	char process[RECORD_NAME_BYTES], thread[RECORD_NAME_BYTES];
	pid_t ns_pid;		     /* as in struct owner */
	struct container *container; /* as in struct owner; records_add() takes a reference */
};

/* Which frames of a stack lie in a library, not in the program itself: bit n % 8 of byte n / 8 is
 * the n-th frame below process and thread, from 0. The tree doesn't tell these stacks apart. */
struct record_libraries {
	const uint8_t *bits;
	size_t bytes; /* the bits behind are 0 */
};

/* Returns whether the bit of the n-th frame is set. */
bool record_libraries_have(const struct record_libraries *libraries, size_t frame);

#define STACK_FRAMES_MAX (WORDS_MAX + 8) /* frames of a stack, with its markers */

/* Bits of a stack's frames as they are collected, for struct record_libraries. Begins as zeros. */
struct frame_bits {
	uint8_t bits[STACK_FRAMES_MAX / 8 + 1];
	size_t bytes, frames;
};

/* Adds the next frame with its bit. There are at most STACK_FRAMES_MAX. */
void frame_bits_add(struct frame_bits *bits, bool set);

/* Stacks with the same key are counted together. */
struct record_key {
	uint32_t node; /* the node of the tree at which the stack ends */
	uint32_t who;  /* set by records: a number for each struct record_who */
	uint32_t tid;
	uint16_t cpu;
	uint16_t libraries; /* set by records: a number for each struct record_libraries */
};

struct record {
	struct record_key key;
	uint64_t weight;   /* in the tree's unit */
	uint64_t first_ns; /* when the stack was first seen */
	const struct record_who *who;
	struct record_libraries libraries;
};

/* Makes a table of at most `max` records; records_merge() may fill it to twice as many. Returns 0,
 * or -ENOMEM. The caller owns *ret. */
int records_new(struct records **ret, size_t max);
void records_free(struct records *records);
static inline void records_freep(struct records **records)
{
	records_free(*records);
}
#define _cleanup_records_ _cleanup_(records_freep)

/* Makes room for so many more records, so that they are added faster; at most up to the bound.
 * Returns 0 or -ENOMEM. */
int records_reserve(struct records *records, size_t more);

/* Adds a record's weight. key.who and key.libraries are ignored: they follow from `who` and
 * `libraries`. Returns 0, -ENOSPC or -ENOMEM; nothing was added then. */
int records_add(struct records *records, const struct record *record);

/* Adds those records of `from` whose node has a number in `numbers` (tree_merge()), under that
 * number. Returns 0, -ENOSPC or -ENOMEM; a part was added then. */
int records_merge(struct records *into, const struct records *from, const uint32_t *numbers);

/* Lists all records, in order of who, node, libraries, thread and CPU. Returns their number, or
 * -ENOMEM. The caller frees *ret; its pointers are valid until a record is added. */
int64_t records_list(const struct records *records, struct record **ret);
