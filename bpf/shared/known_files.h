/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files whose unwind tables are in the arena, by what the kernel knows of a mapped file. With it a
 * process that began a moment ago, whose mappings the daemon hasn't read yet, is walked by the
 * tables that other processes needed (bpf/unwind/vma.h).
 */
#pragma once

#include "bpf/shared/packed.h"

#define KNOWN_FILES_MAX	   1024 /* more aren't known */
#define KNOWN_SEGMENTS_MAX 4	/* executable segments; a file with more isn't published */

#define VDSO_KEY_NARROW	   1 /* known_file_key.bytes of the vDSO of 32-bit processes */

/* Key of the map `known_files`: a file that is changed or replaced has another. All 0, but for
 * VDSO_KEY_NARROW: the vDSO. */
struct known_file_key {
	uint64_t inode, bytes, changed_s;
	uint32_t changed_ns;
	uint32_t device; /* as the kernel has it: major << 20 | minor */
};

/* The bytes [from, to) of the file; the byte at offset `o` is at the distance o + shift from the
 * table's lowest address. */
struct known_segment {
	uint64_t from, to, shift;
};

struct known_file {
	uint32_t index, what;				   /* of struct span */
	uint32_t number;				   /* of the daemon; never 0 */
	uint32_t runtimes;				   /* WALKS_ bits: it has these */
	struct known_segment segments[KNOWN_SEGMENTS_MAX]; /* from = to: no more */
};

/* A mapping that a walk went through. */
struct told_mapping {
	uint64_t start, end, file_offset;
	uint32_t number; /* struct known_file.number */
	uint32_t pad;
};

#define TOLD_MAX 16 /* a power of two */

/* Value of `kind`, which lies where a struct stack has its probe. */
#define TOLD_MAPS_KIND 0xfffffffdU

/* Record of the ring of stacks: mappings that the daemon hadn't read, before the stack that goes
 * through them. */
struct told_maps {
	uint64_t id; /* struct target_value.id */
	uint32_t tgid;
	uint32_t kind;	  /* TOLD_MAPS_KIND */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t count;
	uint32_t pad;
	struct told_mapping each[TOLD_MAX];
};

#define TOLD_MAPS_LEAST (sizeof(struct told_maps) - TOLD_MAX * sizeof(struct told_mapping))

_Static_assert(sizeof(struct known_file_key) == 32, "a map key without padding");
