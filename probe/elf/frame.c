// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/frame.h"

#include <string.h>

#define SUFFIX_LEN 4 /* of every suffix */

static const struct {
	const char *name, *suffix;
} types[FRAME_TYPE_COUNT] = {
	[FRAME_TYPE_ROOT] = {"root", ""},
	[FRAME_TYPE_POD] = {"pod", ""},
	[FRAME_TYPE_CONTAINER] = {"container", ""},
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

enum frame_type frame_type_parse(const char *name, size_t *len)
{
	if (*len <= SUFFIX_LEN || name[*len - 1] != ']')
		return FRAME_TYPE_NATIVE;
	for (int type = 0; type < FRAME_TYPE_COUNT; type++) {
		const char *suffix = types[type].suffix;

		if (*suffix && memcmp(name + *len - SUFFIX_LEN, suffix, SUFFIX_LEN) == 0) {
			*len -= SUFFIX_LEN;
			return (enum frame_type)type;
		}
	}
	return FRAME_TYPE_NATIVE;
}
