// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/frame.h"

static const struct {
	const char *name, *suffix;
} types[FRAME_TYPE_COUNT] = {
	[FRAME_TYPE_ROOT] = {"root", ""},
	[FRAME_TYPE_PROCESS] = {"process", ""},
	[FRAME_TYPE_THREAD] = {"thread", ""},
	[FRAME_TYPE_MARKER] = {"marker", ""},
	[FRAME_TYPE_NATIVE] = {"native", ""},
	[FRAME_TYPE_KERNEL] = {"kernel", "_[k]"},
	[FRAME_TYPE_JIT] = {"jit", "_[j]"},
	[FRAME_TYPE_INLINED] = {"inlined", "_[i]"},
	[FRAME_TYPE_INTERPRETED] = {"interpreted", "_[0]"},
	[FRAME_TYPE_PYTHON] = {"python", "_[p]"},
};

const char *frame_type_name(enum frame_type type)
{
	return types[type].name;
}

const char *frame_type_suffix(enum frame_type type)
{
	return types[type].suffix;
}
