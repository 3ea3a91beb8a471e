/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builder of a file's unwind table, in the format of the arena (bpf/shared/packed.h). An image is a
 * flat run of words without a place in the arena: its blocks may still cross a chunk's end.
 */
#pragma once

#include <stddef.h>

#include "cfi/cfi.h"
#include "flow/made_rows.h"

struct table_image {
	uint32_t *words;
	size_t count;
	uint32_t index;	   /* number of the word where the index begins, behind the rules */
	uint32_t blocks;   /* entries of the index */
	uint64_t low;	   /* the lowest address, as linked; a multiple of BLOCK_BYTES */
	bool tracks_bx;	   /* rules say where rbx is saved */
	bool has_luajit;   /* LuaJIT's interpreter is in the file */
	uint16_t machine;  /* e_machine, which decides what a row means */
	uint64_t checksum; /* of words, segments and build id: equal for equal content */
	struct elf_segment segments[ELF_SEGMENTS_MAX]; /* the file's executable segments */
	size_t segments_count;
	struct cfi_stats stats;
	struct made_rows made; /* of image_build_made(): their rules are in words */
};

/*
 * Reads a file's unwind rows (CFI, or Go's pclntab) and packs them. Call this in a job. Returns 0,
 * or a negative errno, and then image->words is NULL: -ENOENT if the file has no rows (the segments
 * are set nevertheless); -EFBIG if its addresses reach too far or there are too many rows; else as
 * cfi_read().
 */
int image_build(int fd, struct table_image *image);

/* The same, with rows that are made from code: those of image->made, which may have some (or is
 * zeroed), and those that are wanted (flow/made_rows.h). A file without other rows is no error
 * then. */
int image_build_made(int fd, const struct made_wanted *wanted, struct table_image *image);
void image_done(struct table_image *image);

/* Rows that come from elsewhere than a file. */
struct image_rows {
	uint16_t machine;
	uint64_t bytes; /* the table's addresses are 0 to this */
	/* Gives the rows to the sink, in order of their addresses; a result of the sink other than
	 * 0 ends this and is returned. It may be asked twice. */
	int (*give)(void *arg, row_sink sink, void *to);
	void *arg;
};

/* Packs such rows; the image has no segments. Returns 0, or a negative errno: that of give();
 * -EFBIG if there are too many rules; -EINVAL if the rows aren't in order; -ENOMEM. */
int image_of_rows(const struct image_rows *rows, struct table_image *image);

/* Looks up the rule at an address, as linked; RULE_NONE outside. For tests and tools. */
void image_find(const struct table_image *image, uint64_t address, struct rule *rule);

/* Returns how many words the image takes in the arena at most, wherever it begins. */
size_t image_room(const struct table_image *image);

/* Writes the image to `to` in the form that it needs at word `start` of the arena; `to` has room
 * for image_room() words. Returns the number of the arena's word where the index begins. */
uint32_t image_place(const struct table_image *image, uint32_t start, uint32_t *to);
