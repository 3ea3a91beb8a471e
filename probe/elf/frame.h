/* SPDX-License-Identifier: GPL-2.0-only */
/* What a frame of a flame graph is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum frame_type {
	FRAME_TYPE_ROOT,
	FRAME_TYPE_POD,	      /* `[Pod]name` */
	FRAME_TYPE_CONTAINER, /* `[Con]name` */
	FRAME_TYPE_PROCESS,   /* `[pid]comm` */
	FRAME_TYPE_THREAD,
	FRAME_TYPE_MARKER, /* `[truncated]` and its like: says something, isn't code */
	FRAME_TYPE_NATIVE,
	FRAME_TYPE_KERNEL,
	FRAME_TYPE_JIT,
	FRAME_TYPE_INLINED,
	FRAME_TYPE_INTERPRETED, /* Java */
	FRAME_TYPE_PYTHON,
	FRAME_TYPE_COUNT
};

/* It says whose the stacks below it are. */
static inline bool frame_type_is_head(enum frame_type type)
{
	return type >= FRAME_TYPE_POD && type <= FRAME_TYPE_THREAD;
}

/*
 * "kernel", "native", … as `.json` shows it; the suffix of folded text: "_[k]", "_[j]", "_[i]",
 * "_[0]", "_[p]" or "".
 */
const char *frame_type_name(enum frame_type type);
const char *frame_type_suffix(enum frame_type type);

/* The kind that the suffix of a name tells, which is taken off *len; FRAME_TYPE_NATIVE without. */
enum frame_type frame_type_parse(const char *name, size_t *len);
