/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a program's list, copied one after the other from its memory, with a checksum: what
 * is known of a list is of the same bytes as its checksum. In a job. */
#pragma once

#include "base/clock.h"
#include "jit/jit_elf.h"
#include "jit/jit_list.h"

#define JIT_ELF_MAX (16u << 20)	      /* bytes of a file */
#define JIT_CPU_NS  (300 * NS_PER_MS) /* CPU time for all files, once */

struct jit_file {
	uint8_t *bytes; /* NULL: they can't be read */
	struct jit_elf elf;
	/* elf.eh_frame_bytes of an object file's .eh_frame as it was loaded, for there, not in the
	 * file, are its addresses; NULL: there is none. */
	uint8_t *frames;
	uint64_t checksum; /* of the entry and of all that was read */
};

/*
 * Calls each(), which may be NULL, for the files of the list in its order; the file is valid only
 * inside. `error`: 0; -EFBIG if it is too large, or all together; -EBADMSG if it is no ELF file of
 * this processor with code; -ENOMEM; an errno of reading. Returns for how many: the others took too
 * long. *sum: a checksum of the list and its files; 0: it isn't known.
 */
size_t jit_files_read(const struct process_memory *memory, const struct jit_list *list,
		      uint64_t *sum,
		      void (*each)(void *arg, const struct jit_entry *entry,
				   const struct jit_file *file, int error),
		      void *arg);
