/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layouts of CPython's structs: for 3.8 to 3.12 one row a minor version (layouts.c, made by
 * scripts/gen-python-layouts from the headers of installed Pythons), for later versions read from
 * the process's _Py_DebugOffsets, the first member of _PyRuntime. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/cpython_layout.h"

/* The form of a code object's table of lines. */
enum python_lines {
	PYTHON_LINES_LNOTAB,	/* 3.8, 3.9: co_lnotab */
	PYTHON_LINES_DELTAS,	/* 3.10: co_linetable, PEP 626 */
	PYTHON_LINES_LOCATIONS, /* 3.11 and later: Objects/locations.md */
};

/*
 * Where function objects are found (python/functions/), of versions whose code objects don't have
 * their qualified names: offsets in PyInterpreterState, PyFunctionObject, PyCodeObject,
 * PyTupleObject, PyTypeObject, PyDictObject, PyDictKeysObject. All 0: nobody looks for them.
 */
struct python_functions {
	uint16_t interpreter_modules;
	uint16_t function_code, function_globals, function_closure, function_dict,
		function_qualname;
	uint16_t code_consts;
	uint16_t tuple_length, tuple_items;
	uint16_t type_flags, type_dict;
	uint16_t type_instance_dict; /* the word that has the offset of an instance's dict */
	uint16_t dict_keys, dict_values;
	uint16_t keys_size, keys_used, keys_indices;
};

struct python_layout {
	struct cpython walk; /* runtime and code_type are 0: they differ by process */
	enum python_lines lines;
	uint8_t instruction_bytes; /* bytes of code of one unit of a stack's `instruction`: 1, 2 */

	/* Offsets in a PyCodeObject; CPYTHON_NO: this version has no such member. */
	uint16_t code_name, code_qualname, code_filename, code_lines, code_first_line;
	uint16_t code_instructions; /* the first instruction; CPYTHON_NO: stacks have f_lasti */
	/* Builds without the GIL, from 3.14 on: a pointer to {int64 count; address copies[count]},
	 * a copy of the instructions for each thread's index; copies[0] is code_instructions
	 * itself. An instruction outside of the code object lies in another copy. */
	uint16_t code_copies;

	/* Offsets in a str: PyASCIIObject, PyCompactUnicodeObject. */
	uint16_t unicode_length, unicode_state, ascii_data, compact_data;
	uint8_t unicode_kind_shift, unicode_compact_shift, unicode_ascii_shift; /* in the state */
	/* If not 0, and the kind is 0 with its shift: add this to all three shifts. The interned
	 * state has 16 bits then; a kind is never 0, but bits 2 to 15 of such a state are 0. */
	uint8_t unicode_further_shift;

	uint16_t bytes_length, bytes_data; /* offsets in a bytes */

	struct python_functions functions;
	uint64_t function_type; /* address of PyFunction_Type; 0: not known. Differs by process */
};

/* Returns whether qualified names are only known by function objects, which can be found. */
static inline bool python_has_functions(const struct python_layout *layout)
{
	return layout->functions.function_code && layout->function_type;
}

/* How many bytes of _PyRuntime must be read. */
#define PYTHON_DEBUG_OFFSETS_BYTES 1024

/*
 * Fills in the layout of a version (PY_VERSION_HEX). `debug_offsets`: from 3.13 on, the first bytes
 * of the process's _PyRuntime; hostile. Returns 0; -ENOTSUP if no layout is known (alphas and betas
 * have none, because layouts change until the first candidate); -EBADMSG if the debug offsets make
 * no sense.
 */
int python_layout_of(uint32_t version, const void *debug_offsets, size_t bytes,
		     struct python_layout *layout);
