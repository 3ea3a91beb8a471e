/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file's unwind table as it will lie in the arena (bpf/shared/packed.h), not yet at its place: a
 * flat run of words, in which blocks may still cross a chunk's end.
 */
#pragma once

#include <stddef.h>

#include "cfi/cfi.h"

struct table_image {
	uint32_t *words;
	size_t count;
	uint32_t index;	 /* where in `words` the index begins, behind the rules */
	uint32_t blocks; /* that the index has */
	uint64_t low;	 /* the lowest address, as linked; a multiple of BLOCK_BYTES */
	bool tracks_bx;
	uint16_t machine;  /* e_machine: what rows mean differs */
	uint64_t checksum; /* of what it was made from: equal for equal content */
	struct elf_segment segments[ELF_SEGMENTS_MAX]; /* the file's executable ones */
	size_t segments_count;
	struct cfi_stats stats;
};

/*
 * Reads a file's CFI, or what stands for it (.gopclntab), and packs it. In a job. -ENOENT: it has
 * none (segments are told nevertheless); -EFBIG its addresses reach too far or there is too much;
 * else as cfi_read(). On failure image->words is NULL.
 */
int image_build(int fd, struct table_image *image);
void image_done(struct table_image *image);

/* The rule at an address, as linked; kind RULE_NONE outside. For tests and tools. */
void image_find(const struct table_image *image, uint64_t address, struct rule *rule);

/* How many words it takes in the arena at most, wherever it begins. */
size_t image_room(const struct table_image *image);

/* Writes it as it has to be when it begins at word `start` of the arena: `to` has image_room()
 * words of room. Returns the word, in the arena, where its index begins. */
uint32_t image_place(const struct table_image *image, uint32_t start, uint32_t *to);
