/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A code object of a Python process: its names and its table of lines, copied from the process's
 * memory. This memory is hostile: reading is bounded in bytes and time, and the object is checked
 * against the sum in the stack. Immutable once read. References are counted on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/process_memory.h"
#include "python/layout.h"

struct pycode;

/*
 * Reads the code object at `address`, if its sum is still `sum` (the upper 32 bits, as in a stack).
 * Returns 0, or a negative errno: -ESTALE if another object is there now; -EBADMSG if there is no
 * code object (names that aren't str, sizes out of bounds); -ENOMEM; that of reading the memory
 * (-EFAULT …). The caller owns *ret, one reference.
 */
int pycode_read(struct pycode **ret, const struct python_layout *layout,
		const struct process_memory *memory, uint64_t address, uint32_t sum);

/*
 * Like pycode_read(), with a qualified name that was found otherwise (functions/pyfunctions.h):
 * -ESTALE also if the name doesn't end with the object's own.
 */
int pycode_read_qualified(struct pycode **ret, const struct python_layout *layout,
			  const struct process_memory *memory, uint64_t address, uint32_t sum,
			  const char *name, size_t len);

/* Returns whether the name is the function's alone, without its class, and a search of the process
 * may find the qualified one (functions/pyfunctions.h). */
bool pycode_is_alone(const struct pycode *code);

struct pycode *pycode_ref(struct pycode *code);
void pycode_unref(struct pycode *code);

/* Return the name (qualified, if the version has qualified names or it was read so) and the file as
 * compiled:
 * `/usr/lib/python3.11/json/decoder.py`, `<string>`. Both are borrowed: valid UTF-8 of up to 4 KiB
 * without NUL; python/pystrings.h says what replaces other characters. */
const char *pycode_name(const struct pycode *code, size_t *len);
const char *pycode_file(const struct pycode *code, size_t *len);

/* Returns whether the object is the interpreter's own, without a source: the frame between the call
 * of a class and its __init__ (3.13 and later). */
bool pycode_is_shim(const struct pycode *code);

/* Returns the line of an instruction (the lower half of a Python frame's second word), as the
 * interpreter would; 0: none or not known. f_lineno would be None then, and tracebacks have no line
 * either. */
uint32_t pycode_line(const struct pycode *code, uint32_t instruction);

/* Returns false if the instruction lies in a copy of the code that was made after the object was
 * read (builds without the GIL make one for each thread): then the object must be read again. */
bool pycode_has(const struct pycode *code, uint32_t instruction);

/* Returns whether both objects give the same answers for every instruction, so that one may replace
 * the other. Equal objects have the same hash. */
bool pycode_is_equal(const struct pycode *a, const struct pycode *b);
uint64_t pycode_hash(const struct pycode *code, uint64_t seed);

/* Returns the bytes of memory that the object takes. */
size_t pycode_bytes(const struct pycode *code);
