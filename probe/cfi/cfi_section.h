/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes of .eh_frame or .debug_frame, and the entries (CIEs and FDEs) that they are.
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
	bool debug; /* .debug_frame */
	struct dwarf_bases bases;
};

/* -ENOENT: the file has none; -EFBIG, -EBADMSG, -ENOMEM, errno of reading. */
int cfi_section_read(struct cfi_section *section, int fd, const struct elf_image *image,
		     bool debug);
void cfi_section_done(struct cfi_section *section);

struct cfi_entry {
	uint32_t offset;
	bool is_cie;
	uint64_t cie;		  /* of an FDE: where its CIE is */
	struct dwarf_reader body; /* what follows the CIE id or pointer */
};

/* The entry that begins at an offset; false: none, or an empty one. */
bool cfi_section_at(const struct cfi_section *section, size_t offset, struct cfi_entry *entry);

/* The first entry from *offset on that isn't empty, and moves behind it. False: there is none. */
bool cfi_section_next(const struct cfi_section *section, size_t *offset, struct cfi_entry *entry);
