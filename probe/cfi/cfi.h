/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader that turns an ELF file's call frame information into unwind rows: .eh_frame, or
 * .debug_frame where there is no .eh_frame. Every file is hostile: memory and time are bounded
 * whatever the file holds; entries that make no sense are left out and counted. A target may own
 * the file and reading may hang, so call this in a job.
 *
 * Source: DWARF 5, 6.4; LSB 5.0 core, 10.6 (.eh_frame); System V ABI, AMD64 supplement, 3.6.2.
 */
#pragma once

#include "proc/elf.h"
#include "cfi/rule.h"

#define CFI_BX_X86_64 3 /* the DWARF number of rbx */

struct cfi_stats {
	uint64_t rows;				 /* rows that the sink got */
	uint64_t unsupported[UNSUPPORTED_COUNT]; /* rows with RULE_UNSUPPORTED, by reason */
	uint64_t functions;			 /* FDEs, or Go's functions, that were read */
	uint64_t broken;			 /* FDEs left out: they or their CIEs are broken */
	uint64_t overlapping;			 /* FDEs left out: another covers their code */
};

/*
 * Calls `sink` for each row of the image's executable segments, in order of addresses. A row begins
 * where an FDE begins, where the rule changes (equal neighbours are one row), and, with RULE_NONE,
 * where code without CFI begins. Less than 16 bytes between two functions are padding and keep the
 * rule before them. Returns 0, an error of the sink, or a negative errno: -ENOENT if the file has
 * no CFI (the sink got nothing); -EBADMSG if the file makes no sense as a whole; -EFBIG if there is
 * too much CFI; -ENOMEM; an errno of reading.
 */
int cfi_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
	     struct cfi_stats *stats);
