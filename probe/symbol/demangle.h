/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "base/buf.h"

/*
 * Adds the readable form of a C++ or Rust symbol to `out`, or the symbol itself where it is
 * neither; without the version that a linker may have put behind it. Bounded: symbols over 4 KiB
 * stay as they are, and so do those whose readable form is longer than 4 KiB (crafted ones grow
 * without end).
 */
void demangle(const char *symbol, struct buf *out);
