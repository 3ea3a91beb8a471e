/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where CPython keeps what: one row a version for 3.8 to 3.12 (layouts.c, made by
 * scripts/gen-python-layouts from the headers of installed Pythons), and for later ones what the
 * process itself says in _Py_DebugOffsets, the first member of _PyRuntime.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/cpython_layout.h"

/* How a code object tells lines. */
enum python_lines {
	PYTHON_LINES_LNOTAB,	/* 3.8, 3.9: co_lnotab */
	PYTHON_LINES_DELTAS,	/* 3.10: co_linetable, PEP 626 */
	PYTHON_LINES_LOCATIONS, /* 3.11 and later: Objects/locations.md */
};

struct python_layout {
	struct cpython walk; /* runtime and code_type are 0: they are a process's */
	enum python_lines lines;
	uint8_t instruction_bytes; /* of one unit of `instruction` in a stack: 1 or 2 */

	/* Offsets in a PyCodeObject; CPYTHON_NO: this version hasn't got it. */
	uint16_t code_name, code_qualname, code_filename, code_lines, code_first_line;
	uint16_t code_instructions; /* the first one; CPYTHON_NO where instructions are f_lasti */
	/* Builds without the GIL, from 3.14 on: a pointer to {int64 count; address copies[count]}
	 * of the instructions, one for each thread's index; copies[0] is code_instructions itself.
	 * An instruction that lies outside of the code object is in one of the others. */
	uint16_t code_copies;

	/* In a str: PyASCIIObject, PyCompactUnicodeObject. */
	uint16_t unicode_length, unicode_state, ascii_data, compact_data;
	uint8_t unicode_kind_shift, unicode_compact_shift, unicode_ascii_shift; /* in the state */
	/* Not 0: where the kind is 0 by its shift, all three are so much further (the interned
	 * state has 16 bits then; a kind is never 0, and bits 2 to 15 of such a state are). */
	uint8_t unicode_further_shift;

	uint16_t bytes_length, bytes_data; /* in a bytes */
};

/* As much as has to be read from the begin of _PyRuntime. */
#define PYTHON_DEBUG_OFFSETS_BYTES 1024

/*
 * The layout of a version (PY_VERSION_HEX; alphas and betas have none, for layouts change until the
 * first candidate). `debug_offsets`: from 3.13 on, the first bytes of
 * _PyRuntime as the process has them; hostile. -ENOTSUP: no such layout is known; -EBADMSG: the
 * debug offsets make no sense.
 */
int python_layout_of(uint32_t version, const void *debug_offsets, size_t bytes,
		     struct python_layout *layout);
