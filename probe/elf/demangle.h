/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounded demangler for C++ and Rust symbols, by libiberty. Any thread. */
#pragma once

#include <stdint.h>

#include "base/buf.h"

/*
 * Adds the readable form of a C++ or Rust symbol to `out`; adds any other symbol as it is. The
 * version that a linker may have put behind the symbol is left out. A symbol over 4 KiB is added as
 * it is, and so is one whose readable form is longer than 4 KiB (crafted ones grow without end).
 */
void demangle(const char *symbol, struct buf *out);

/*
 * Budget for the symbols of one file. Set `whose`, the rest begins with zeroes. Some symbols are
 * made to take long: a Rust symbol of 159 bytes can stand for a million parts. After 16 such Rust
 * symbols no Rust v0 symbol of the file is demangled, after half a second of CPU time no symbol.
 */
struct demangling {
	uint64_t whose; /* the file's user, as a job has it (loop/worker.h) */
	unsigned bombs; /* symbols that were given up */
	uint64_t cpu_ns;
};

/* Does what demangle() does, within the file's budget. */
void demangle_within(struct demangling *demangling, const char *symbol, struct buf *out);
