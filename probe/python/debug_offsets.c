// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads _Py_DebugOffsets: 64-bit words. The first three are a cookie, PY_VERSION_HEX and whether
 * the build has no GIL. The meaning of the others changes with each minor version (layouts.c), not
 * within one.
 *
 * Source: CPython's Include/internal/pycore_debug_offsets.h (3.13: pycore_runtime.h).
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "python/layouts.h"

#define WORD	    8
#define FRAME_BYTES (CPYTHON_FRAME_WORDS * WORD)
#define OBJECT_MAX  4096 /* of objects and of a thread's state: under 400 in all versions */
#define RUNTIME_MAX 32768
#define INTERP_MAX  (1u << 20) /* of an interpreter's state: 300 KiB in 3.14 */
#define HEAD_BYTES  (2 * WORD) /* head of the list of interpreters, and the main interpreter */

struct offsets_reader {
	uint64_t words[PYTHON_DEBUG_OFFSETS_BYTES / WORD];
	bool failed;
};

/* Returns the offset in a word. It must be a multiple of `align`, and `align` bytes at the offset
 * must end within `limit`. */
static uint32_t take_offset(struct offsets_reader *reader, uint8_t word, uint32_t align,
			    uint32_t limit)
{
	uint64_t offset = reader->words[word];

	if (offset % align != 0 || offset >= limit || limit - offset < align) {
		reader->failed = true;
		return 0;
	}
	return (uint32_t)offset;
}

static uint16_t take_object(struct offsets_reader *reader, uint8_t word)
{
	return (uint16_t)take_offset(reader, word, WORD, OBJECT_MAX);
}

static uint16_t take_frame(struct offsets_reader *reader, uint8_t word, uint32_t align,
			   struct cpython *walk)
{
	uint16_t offset = (uint16_t)take_offset(reader, word, align, FRAME_BYTES);

	if (offset / WORD >= walk->frame_words)
		walk->frame_words = offset / WORD + 1;
	return offset;
}

static void read_walk(struct offsets_reader *reader, const struct python_debug *debug,
		      const struct python_debug_build *build, struct cpython *walk)
{
	uint16_t locals = take_object(reader, debug->word.code_locals);

	walk->interpreters_head = (uint16_t)take_offset(reader, debug->word.interpreters_head, WORD,
							RUNTIME_MAX - HEAD_BYTES);
	walk->interpreter_threads =
		take_offset(reader, debug->word.interpreter_threads, WORD, INTERP_MAX);
	walk->interpreter_next =
		(uint16_t)take_offset(reader, debug->word.interpreter_next, WORD, RUNTIME_MAX);
	walk->thread_next = take_object(reader, debug->word.thread_next);
	walk->thread_id = take_object(reader, debug->word.thread_id);
	walk->thread_frame = take_object(reader, debug->word.thread_frame);
	walk->cframe = CPYTHON_NO;
	walk->frame_previous = take_frame(reader, debug->word.frame_previous, WORD, walk);
	walk->frame_code = take_frame(reader, debug->word.frame_code, WORD, walk);
	walk->frame_instr = take_frame(reader, debug->word.frame_instr, WORD, walk);
	walk->frame_owner = take_frame(reader, debug->word.frame_owner, 1, walk);
	if (locals < build->sum_before)
		reader->failed = true;
	walk->code_sum_at = locals - build->sum_before;
	walk->code_sum_words = build->sum_words;
	walk->code_name = take_object(reader, debug->word.code_name);
	walk->unicode_hash = build->unicode_hash;
	walk->object_type = take_object(reader, debug->word.object_type);
	walk->entry = CPYTHON_ENTRY_SHIM;
	walk->shim_owner = debug->shim_owner;
	walk->code_tag = build->code_tag;
}

static void read_names(struct offsets_reader *reader, const struct python_debug *debug,
		       const struct python_debug_build *build, struct python_layout *layout)
{
	layout->lines = PYTHON_LINES_LOCATIONS;
	layout->instruction_bytes = 1;
	layout->code_name = layout->walk.code_name;
	layout->code_qualname = take_object(reader, debug->word.code_qualname);
	layout->code_filename = take_object(reader, debug->word.code_filename);
	layout->code_lines = take_object(reader, debug->word.code_lines);
	layout->code_first_line =
		(uint16_t)take_offset(reader, debug->word.code_first_line, 4, OBJECT_MAX);
	layout->code_instructions =
		(uint16_t)take_offset(reader, debug->word.code_instructions, 2, OBJECT_MAX);
	layout->unicode_length = take_object(reader, debug->word.unicode_length);
	layout->unicode_state =
		(uint16_t)take_offset(reader, debug->word.unicode_state, 4, OBJECT_MAX);
	layout->ascii_data = take_object(reader, debug->word.ascii_data);
	layout->compact_data = layout->ascii_data + build->compact_bytes;
	layout->unicode_kind_shift = build->unicode_kind_shift;
	layout->unicode_compact_shift = build->unicode_compact_shift;
	layout->unicode_ascii_shift = build->unicode_ascii_shift;
	layout->unicode_further_shift = build->unicode_further_shift;
	layout->bytes_length = take_object(reader, debug->word.bytes_length);
	layout->bytes_data = (uint16_t)take_offset(reader, debug->word.bytes_data, 1, OBJECT_MAX);
	/* A str's hash stands between length and state; _Py_DebugOffsets doesn't have it. */
	if (layout->unicode_length + WORD != build->unicode_hash ||
	    build->unicode_hash + WORD != layout->unicode_state)
		reader->failed = true;
}

int python_debug_read(const struct python_debug *debug, uint32_t version, const void *from,
		      size_t bytes, struct python_layout *layout)
{
	const struct python_debug_build *build;
	struct offsets_reader reader = {0};

	if (bytes < debug->bytes || debug->bytes > sizeof(reader.words))
		return -EBADMSG;
	memcpy(reader.words, from, debug->bytes);
	if (memcmp(from, "xdebugpy", WORD) != 0 || reader.words[1] != version ||
	    reader.words[2] > 1)
		return -EBADMSG;
	build = reader.words[2] ? &debug->free_threaded : &debug->gil;
	*layout = (struct python_layout){.walk.version = version, .code_copies = CPYTHON_NO};
	read_walk(&reader, debug, build, &layout->walk);
	read_names(&reader, debug, build, layout);
	if (reader.words[2] && debug->word.code_copies)
		layout->code_copies = take_object(&reader, debug->word.code_copies);
	return reader.failed ? -EBADMSG : 0;
}
