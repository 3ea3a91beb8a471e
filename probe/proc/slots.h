/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words of an ELF file that the dynamic loader fills with addresses of functions (the GOT), by
 * which calls of exported functions go. The file is hostile. Source: System V ABI, dynamic section;
 * psABI of x86-64 and AArch64 for the relocations.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proc/elf.h"

struct slot {
	uint64_t address; /* of the word, as linked */
	uint64_t leads;	  /* to this function of the same file; 0: to another file's, or unknown */
};

/* Fills in `leads` of each; 0 or the errno of reading. */
int slots_read(int fd, const struct elf_image *image, struct slot *slots, size_t count);
