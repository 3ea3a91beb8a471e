/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads relocations of an ELF file: which function of the file the dynamic loader writes into a
 * slot of the GOT. Calls of exported functions go by these slots. The file is hostile. Source:
 * System V ABI, dynamic section; psABI of x86-64 and AArch64 for the relocations.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proc/elf.h"

struct slot {
	uint64_t address; /* linked address of the slot */
	uint64_t leads; /* linked address of a function of this file; 0: another file's, unknown */
};

/* Fills in `leads` of each slot. Returns 0, or the negative errno of reading. 64-bit files only:
 * for others `leads` is 0. */
int got_slots_read(int fd, const struct elf_image *image, struct slot *slots, size_t count);
