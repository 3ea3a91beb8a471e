/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser of CIEs and FDEs, with a cache of CIEs. A CIE holds what several functions have in common;
 * an FDE describes one function.
 *
 * Source: DWARF 5, 6.4.1; LSB 5.0 core, 10.6.1 (augmentations).
 */
#pragma once

#include "cfi/cfi_program.h"
#include "cfi/cfi_section.h"

/* Slots of the cache of CIEs; an offset has one slot. */
#define CIES_KEPT 64

struct cfi_cies {
	const struct cfi_section *section;
	const struct cfi_machine *machine;
	/* Bytes of CIEs that may still be read: a file may make us read a long CIE often. */
	uint64_t budget;
	struct {
		uint64_t offset; /* the CIE's offset + 1; 0: the slot is empty */
		bool known;	 /* the CIE makes sense, `cie` is set */
		struct cfi_cie cie;
	} kept[CIES_KEPT];
};

void cfi_cies_init(struct cfi_cies *cies, const struct cfi_section *section,
		   const struct cfi_machine *machine);

/* Returns the CIE at `offset`, valid until the next call; NULL if there is none, if it makes no
 * sense, or if the budget is spent. */
const struct cfi_cie *cfi_cie_at(struct cfi_cies *cies, uint64_t offset);

/* Reads an FDE into *function; returns false if the FDE makes no sense. */
bool cfi_function_read(const struct cfi_section *section, const struct cfi_cie *cie,
		       const struct cfi_entry *entry, struct cfi_function *function);
