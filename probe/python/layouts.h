/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of layouts.c, made from the headers of each version. Private to this room. */
#pragma once

#include "python/layout.h"

/* The layouts of 3.8 to 3.12; walk.version has major and minor only. */
extern const struct python_layout python_layouts[];
extern const size_t python_layouts_count;

/* Values that differ between builds with and without the GIL and aren't in _Py_DebugOffsets. */
struct python_debug_build {
	uint8_t code_tag;      /* as in struct cpython */
	uint8_t sum_before;    /* the sum begins so many bytes before co_localsplusnames … */
	uint8_t sum_words;     /* … and has so many words */
	uint8_t compact_bytes; /* size of PyCompactUnicodeObject minus size of PyASCIIObject */
	uint8_t unicode_hash;
	uint8_t unicode_kind_shift, unicode_compact_shift, unicode_ascii_shift;
	uint8_t unicode_further_shift;
};

/* 3.13 and later: the number of the word of _Py_DebugOffsets that has an offset; 0: none has. */
struct python_debug {
	uint32_t version; /* major and minor only */
	uint16_t bytes;	  /* size of _Py_DebugOffsets */
	uint8_t shim_owner;
	struct {
		uint8_t interpreters_head, interpreter_next, interpreter_threads;
		uint8_t thread_next, thread_id, thread_frame;
		uint8_t frame_previous, frame_code, frame_instr, frame_owner;
		uint8_t code_filename, code_name, code_qualname, code_lines, code_first_line;
		uint8_t code_locals, code_instructions, code_copies;
		uint8_t object_type;
		uint8_t bytes_length, bytes_data;
		uint8_t unicode_state, unicode_length, ascii_data;
	} word;
	struct python_debug_build gil, free_threaded;
};

extern const struct python_debug python_debugs[];
extern const size_t python_debugs_count;

/* Fills in a layout from a process's _Py_DebugOffsets (`from`, hostile). Returns 0, or -EBADMSG if
 * they make no sense. */
int python_debug_read(const struct python_debug *debug, uint32_t version, const void *from,
		      size_t bytes, struct python_layout *layout);
