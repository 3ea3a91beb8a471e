/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader for the section .eh_frame or .debug_frame: its bytes in memory, and an iterator over its
 * entries (CIEs and FDEs).
 *
 * Source: DWARF 5, 6.4.1 and 7.24; LSB 5.0 core, 10.6.1.
 */
#pragma once

#include "proc/elf.h"
#include "cfi/dwarf_reader.h"

#define CFI_BYTES_MAX (256u * 1024 * 1024)

struct cfi_section {
	uint8_t *bytes;
	size_t count;
	bool debug; /* the section is .debug_frame */
	struct dwarf_bases bases;
};

/*
 * Reads .debug_frame if `debug`, else .eh_frame. The caller ends *section with cfi_section_done().
 * Returns 0, or a negative errno: -ENOENT if the file has no such section; -EFBIG if the section is
 * larger than CFI_BYTES_MAX, or a compressed section unpacked than a quarter of that; -EBADMSG;
 * -ENOMEM; an errno of reading.
 */
int cfi_section_read(struct cfi_section *section, int fd, const struct elf_image *image,
		     bool debug);
void cfi_section_done(struct cfi_section *section);

struct cfi_entry {
	uint32_t offset; /* in the section */
	bool is_cie;
	uint64_t cie;		  /* of an FDE: the offset of its CIE */
	struct dwarf_reader body; /* the bytes that follow the CIE id or CIE pointer */
};

/* Reads the entry that begins at `offset`; returns false if there is none or the entry is empty. */
bool cfi_section_at(const struct cfi_section *section, size_t offset, struct cfi_entry *entry);

/* Reads the first non-empty entry from *offset on and moves *offset behind that entry. Returns
 * false if there is none. */
bool cfi_section_next(const struct cfi_section *section, size_t *offset, struct cfi_entry *entry);
