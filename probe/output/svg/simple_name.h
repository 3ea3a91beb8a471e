/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left of a function's name where the whole has no room: of Java's and Python's names, and
 * of those of C++ and Rust that are words with `::` between them (simpleNames() of flamegraph.js
 * does the same). */
#pragma once

#include <stddef.h>

#include "elf/frame.h"

#define SIMPLE_NAMES 3

/*
 * Returns the length of a part of the name, and where the part begins; 0: the name has no such
 * part. `step` 0: `package.Class.method`, without file, line and parameters; 1: `Class.method`;
 * 2: `method`.
 */
size_t simple_name(enum frame_type type, const char *name, size_t len, unsigned step,
		   const char **begin);
