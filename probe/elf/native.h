/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolizer for native code: finds the functions that hold given file offsets of an ELF file. It
 * reads .symtab and .dynsym, the separate debug file or the small one inside the file
 * (elf/minidebug.h), Go's table of functions (proc/pclntab.h), and, for code that no symbol with a
 * size holds, the starts and ends that CFI, code and relocations tell (elf/code_starts.h). Each
 * table is read once for all offsets together, in pieces; only the answers are kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "proc/elf.h"

#define NATIVE_NO_NAME UINT32_MAX

/* A question, and the function that is the answer. */
struct native_function {
	uint64_t offset;   /* the question: a file offset */
	uint64_t from, to; /* file offsets around `offset` with the same answer; from = to: `offset`
			    * is in no executable segment, and the other fields are empty */
	uint64_t address;  /* of the function's first instruction, as the file was linked */
	uint32_t name;	   /* offset of the linker's name in `names`, or NATIVE_NO_NAME */
};

/* Facts about the file as a whole. */
struct native_file {
	struct elf_segment segments[ELF_SEGMENTS_MAX]; /* the executable segments */
	size_t segments_count;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_bytes; /* 0: none */
};

/*
 * Answers all questions of `functions` and sorts them by address. Names are added to `names`, each
 * with a NUL. `debug_fd` is the separate debug file, or -1. `with_code`: the file's code is read,
 * too, where there is no CFI; 2 s of CPU time at most. *file (or NULL) is set for every ELF file,
 * also on failure. A target may own the files, so call this in a job. Returns 0, or a negative
 * errno, and then no answer is valid: -ENOEXEC if `fd` is no ELF file; -EBADMSG if it is broken;
 * -EFBIG if it has too many symbols; -ENOSPC if the names exceed names->max; -ENOMEM; an errno of
 * reading.
 */
int native_resolve(int fd, int debug_fd, bool with_code, struct native_function *functions,
		   size_t count, struct buf *names, struct native_file *file);
