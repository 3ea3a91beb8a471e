/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon asks the line reader (line_reader.c), and what that answers. Both are of one
 * build, so all is in this machine's shape.
 *
 * Its descriptors: 0 the question, 1 the answers, 3 the file with the debug information, 4 the file
 * that this refers to (.gnu_debugaltlink), where there is one.
 *
 * Question: struct line_question, and its addresses, as the file was linked, rising.
 * Answers: for each address of which it knows something a struct line_answer, and the texts of its
 * levels; in no order. The end is the end of the file.
 */
#pragma once

#include <stdint.h>

#define LINE_READER_FILE   3
#define LINE_READER_ALT	   4

#define LINE_ADDRESSES_MAX 65536
#define LINE_LEVELS_MAX	   32 /* of inlined functions at one place, and the one that they are in */
#define LINE_TEXT_MAX	   4096

struct line_question {
	uint32_t addresses;
};

/* One function at a place: the one whose code it is, or one that is inlined there. Its texts
 * follow, all levels' one after the other, without NULs. */
struct line_level {
	uint32_t line;	   /* 0: not known */
	uint16_t file_len; /* 0: not known */
	uint16_t name_len; /* as the linker has it; 0: the outermost one's */
};

struct line_answer {
	uint64_t address;
	uint32_t levels; /* innermost first; the last one is the function itself */
	uint32_t text_bytes;
	struct line_level level[];
};
