/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What CIEs and FDEs say: the first is what several functions have in common, the second is one
 * function.
 *
 * Source: DWARF 5, 6.4.1; LSB 5.0 core, 10.6.1 (augmentations).
 */
#pragma once

#include "cfi/cfi_program.h"
#include "cfi/cfi_section.h"

/* CIEs that were read last, by their offset. */
#define CIES_KEPT 64

struct cfi_cies {
	const struct cfi_section *section;
	const struct cfi_machine *machine;
	uint64_t
		budget; /* bytes of CIEs that may still be read: a file may name a long one often */
	struct {
		uint64_t offset; /* and 1; 0: none is kept here */
		bool known;	 /* it makes sense */
		struct cfi_cie cie;
	} kept[CIES_KEPT];
};

void cfi_cies_init(struct cfi_cies *cies, const struct cfi_section *section,
		   const struct cfi_machine *machine);

/* Valid until the next call; NULL: there is none, or it makes no sense. */
const struct cfi_cie *cfi_cie_at(struct cfi_cies *cies, uint64_t offset);

/* False: the FDE makes no sense. */
bool cfi_function_read(const struct cfi_section *section, const struct cfi_cie *cie,
		       const struct cfi_entry *entry, struct cfi_function *function);
