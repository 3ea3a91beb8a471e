/* SPDX-License-Identifier: GPL-2.0-only */
/* The only door from an address to a name. One thread uses a symbolizer: the bulk worker's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "symbol/file.h"
#include "symbol/frame.h"

/* Where a frame's instruction lies. */
enum code_place {
	CODE_KERNEL, /* address: in the kernel */
	CODE_FILE,   /* address: offset in `file` */
	CODE_JIT,    /* in memory without a file */
	CODE_VSYSCALL,
};

struct code {
	enum code_place place;
	bool is_return; /* a return address: the call is before it */
	struct symbol_file *file;
	uint64_t address;
};

struct symbolizer;

/* -ENOMEM */
int symbolizer_new(struct symbolizer **ret);
void symbolizer_free(struct symbolizer *symbolizer);

/* To be called before a batch of names. */
void symbolizer_begin(struct symbolizer *symbolizer);

/*
 * Adds the frame's name to `name`, without its kind's suffix, and tells its type. Without a symbol:
 * `[module+0x1a2b]` (where its function starts), `[module]` when the file could not be read,
 * `[jit]`, `[kernel]`. *entry: the function is where a thread begins, so the stack ends here.
 */
enum frame_type symbolizer_name(struct symbolizer *symbolizer, const struct code *code,
				struct buf *name, bool *entry);

/* Why the kernel's names can't be read: 0 they can (or weren't needed yet), -EACCES
 * kernel.kptr_restrict hides them, or a negative errno. From any thread. */
int symbolizer_kernel_error(const struct symbolizer *symbolizer);

/* Frames that got no symbol since the start. */
uint64_t symbolizer_unnamed(const struct symbolizer *symbolizer);
