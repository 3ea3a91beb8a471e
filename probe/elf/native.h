/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of an ELF file at given places: from .symtab and .dynsym, from its separate debug
 * file or the small one inside it (elf/minidebug.h), from Go's table of functions
 * (proc/pclntab.h), and, for code without a symbol, the function starts of .eh_frame_hdr. The
 * tables are read once for all places together, in pieces; nothing of them stays but the answers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "proc/elf.h"

#define NATIVE_NO_NAME UINT32_MAX

/* The function that holds a place in a file. */
struct native_function {
	uint64_t offset;   /* the question: a file offset */
	uint64_t from, to; /* file offsets around it that have the same answer; from = to: it is in
			    * no executable segment, the rest is 0 */
	uint64_t address;  /* of its first instruction, as the file was linked */
	uint32_t name;	   /* where it begins in `names`, as the linker has it; NATIVE_NO_NAME */
};

/* Of the file as a whole. */
struct native_file {
	struct elf_segment segments[ELF_SEGMENTS_MAX]; /* those with code */
	size_t segments_count;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_bytes; /* 0: none */
};

/*
 * Answers for all of `functions`, which it sorts by address. Names are added to `names`, each with
 * a NUL. `debug_fd` is the separate debug file, or -1. It reads files that a target may own: in a
 * job. -ENOEXEC not an ELF file, -EBADMSG broken, -EFBIG too many symbols, -ENOSPC names have more
 * than names->max, -ENOMEM, errno of reading. Then no answer counts. `file`: told of an
 * ELF file; or NULL.
 */
int native_resolve(int fd, int debug_fd, struct native_function *functions, size_t count,
		   struct buf *names, struct native_file *file);
