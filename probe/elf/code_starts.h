/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions begin and end in code without symbols: by the file's CFI, and, where it has none,
 * by what calls them, takes their address, or is relocated to them. Private to elf/native.c.
 *
 * Source: LSB 5.0 core, 10.5 (.eh_frame_hdr); code_refs.h and elf_dynamic.h.
 */
#pragma once

#include "elf/address_search.h"
#include "proc/elf.h"

struct code_starts {
	int fd;
	const struct elf_image *image;
	uint64_t base; /* address of the search's 0 */
	struct address_search *search;
	const uint32_t *addresses; /* of the search */
	size_t count;
	bool with_code;	 /* code and relocations are read, too … */
	uint64_t end_ns; /* … until then, of the thread's CPU time */
};

/* Passes the starts to the search. Returns 0, or -ENOMEM; what can't be read isn't there. */
int code_starts_meet(struct code_starts *starts);
