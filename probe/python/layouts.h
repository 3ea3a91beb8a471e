/* SPDX-License-Identifier: GPL-2.0-only */
/* The rows of layouts.c: what the headers of each version say. Only probe/python/ includes it. */
#pragma once

#include "python/layout.h"

/* 3.8 to 3.12, whole; in `walk.version` major and minor only. */
extern const struct python_layout python_layouts[];
extern const size_t python_layouts_count;

/* What differs between builds with the GIL and those without it, and isn't in _Py_DebugOffsets. */
struct python_debug_build {
	uint8_t code_tag;   /* struct cpython */
	uint8_t sum_before; /* the sum begins so many bytes before co_localsplusnames … */
	uint8_t sum_words;
	uint8_t compact_bytes; /* PyCompactUnicodeObject has so many more than PyASCIIObject */
	uint8_t unicode_hash;
	uint8_t unicode_kind_shift, unicode_compact_shift, unicode_ascii_shift;
	uint8_t unicode_further_shift;
};

/* 3.13 and later: which word of _Py_DebugOffsets is which offset. 0: it isn't there. */
struct python_debug {
	uint32_t version; /* major and minor only */
	uint16_t bytes;	  /* of all of it */
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

/* In debug_offsets.c. `bytes` of `from`, which is hostile; -EBADMSG: it makes no sense. */
int python_debug_read(const struct python_debug *debug, uint32_t version, const void *from,
		      size_t bytes, struct python_layout *layout);
