/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call frame information of an ELF file -> rows: .eh_frame, or .debug_frame where that is all there
 * is. Every file is hostile: bounded memory and time whatever it holds, what makes no sense is left
 * out and counted. It reads files that a target may own: in a job.
 *
 * Source: DWARF 5, 6.4; LSB 5.0 core, 10.6 (.eh_frame); System V ABI, AMD64 supplement, 3.6.2.
 */
#pragma once

#include "proc/elf.h"
#include "cfi/rule.h"

#define CFI_BX_X86_64 3 /* the DWARF number of rbx */

struct cfi_stats {
	uint64_t rows;				 /* handed on */
	uint64_t unsupported[UNSUPPORTED_COUNT]; /* of these */
	uint64_t functions;			 /* FDEs */
	uint64_t broken;			 /* FDEs and CIEs that make no sense: left out */
	uint64_t overlapping;			 /* FDEs in code that another covers: left out */
};

/*
 * Hands on all rows by address, inside the image's executable segments: where an FDE begins, where
 * its rule changes (equal neighbours are one row), and RULE_NONE where code without CFI begins;
 * less than 16 bytes between two functions are padding, and keep the rule before them. -ENOENT: the
 * file has no CFI (nothing was handed on); -EBADMSG it makes no sense as a whole, -EFBIG too much
 * of it, -ENOMEM, the sink's, errno of reading.
 */
int cfi_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
	     struct cfi_stats *stats);
