/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "base/buf.h"

/*
 * Adds the readable form of a C++ or Rust symbol to `out`, or the symbol itself where it is
 * neither; without the version that a linker may have put behind it. Bounded: symbols over 4 KiB
 * stay as they are, and so do those whose readable form is longer than 4 KiB (crafted ones grow
 * without end).
 */
void demangle(const char *symbol, struct buf *out);

/*
 * What symbols of one file have cost, beginning with zeroes but for whose it is. Some are made to
 * take long: a Rust symbol of 159 bytes can stand for a million parts. After a few of those, or
 * half a second of CPU time, the file's others stay as they are.
 */
struct demangling {
	uint64_t whose; /* as a job's */
	unsigned bombs;
	uint64_t cpu_ns;
};
void demangle_within(struct demangling *demangling, const char *symbol, struct buf *out);
