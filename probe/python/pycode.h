/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A code object of a Python process: its names and its table of lines, copied from the process's
 * memory, which is hostile: bounded in bytes and time, checked against the sum that the stack has.
 * Immutable once read; references belong to the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/process_memory.h"
#include "python/layout.h"

struct pycode;

/*
 * The code object at `address`, if its sum is still `sum` (upper 32 bits, as in a stack). *ret has
 * one reference. -ESTALE: another one is there now; -EFAULT …: its memory can't be read; -EBADMSG:
 * what is there is no code object (names that aren't str, sizes out of bounds); -ENOMEM.
 */
int pycode_read(struct pycode **ret, const struct python_layout *layout,
		const struct process_memory *memory, uint64_t address, uint32_t sum);

struct pycode *pycode_ref(struct pycode *code);
void pycode_unref(struct pycode *code);

/* UTF-8, valid, without NUL (python/pystrings.h says what stands for what isn't), up to 4 KiB.
 * `name` is the qualified one where the version has it. */
const char *pycode_name(const struct pycode *code, size_t *len);
/* As it was compiled: `/usr/lib/python3.11/json/decoder.py`, `<string>`. */
const char *pycode_file(const struct pycode *code, size_t *len);

/* The interpreter's own, which no source was compiled to: between a class that is called and its
 * __init__ (3.13 and later). */
bool pycode_is_shim(const struct pycode *code);

/* The line of an instruction (the lower half of a Python frame's second word), as the interpreter
 * says it; 0: it has none, or isn't known: f_lineno would be None, and tracebacks have no other
 * either. */
uint32_t pycode_line(const struct pycode *code, uint32_t instruction);

/* False: the instruction lies in a copy of the code that wasn't there yet when it was read (builds
 * without the GIL make one for each thread): it is to be read again. */
bool pycode_has(const struct pycode *code, uint32_t instruction);

/* Whether both say the same of every instruction: one may stand for the other. Equal ones have the
 * same hash. */
bool pycode_is_equal(const struct pycode *a, const struct pycode *b);
uint64_t pycode_hash(const struct pycode *code, uint64_t seed);

/* Bytes of memory that it takes. */
size_t pycode_bytes(const struct pycode *code);
