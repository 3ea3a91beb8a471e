/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types of a flame graph's frames, with their names and suffixes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum frame_type {
	FRAME_TYPE_ROOT,
	FRAME_TYPE_POD,	      /* `[Pod]name` */
	FRAME_TYPE_CONTAINER, /* `[Con]name` */
	FRAME_TYPE_PROCESS,   /* `[pid]comm` */
	FRAME_TYPE_THREAD,
	FRAME_TYPE_MARKER, /* `[truncated]` and its like: a remark, no code */
	FRAME_TYPE_NATIVE,
	FRAME_TYPE_KERNEL,
	FRAME_TYPE_JIT,
	FRAME_TYPE_INLINED,
	FRAME_TYPE_INTERPRETED, /* Java */
	FRAME_TYPE_PYTHON,
	FRAME_TYPE_COUNT
};

/* Returns whether a frame of this type says whose the stacks below the frame are. */
static inline bool frame_type_is_head(enum frame_type type)
{
	return type >= FRAME_TYPE_POD && type <= FRAME_TYPE_THREAD;
}

/*
 * Return the name of a type in `.json`: "kernel", "native", …; and its suffix in folded text:
 * "_[k]", "_[j]", "_[i]", "_[0]", "_[p]" or "".
 */
const char *frame_type_name(enum frame_type type);
const char *frame_type_suffix(enum frame_type type);

/* Returns the type that the suffix of `name` tells and takes the suffix off *len; without a suffix
 * returns FRAME_TYPE_NATIVE. */
enum frame_type frame_type_parse(const char *name, size_t *len);
