// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/head_frame.h"

#include <stdbool.h>
#include <string.h>

static bool begins_with(const char *name, size_t len, const char *prefix)
{
	return len >= strlen(prefix) && memcmp(name, prefix, strlen(prefix)) == 0;
}

size_t head_frame_pid(const char *name, size_t len)
{
	size_t digits = 1;

	if (!len || name[0] != '[')
		return 0;
	while (digits < len && name[digits] >= '0' && name[digits] <= '9')
		digits++;
	return digits > 1 && digits < len && name[digits] == ']' ? digits + 1 : 0;
}

enum frame_type head_frame_type(const char *name, size_t len, enum frame_type on)
{
	if (on == FRAME_TYPE_ROOT && begins_with(name, len, "[Pod]"))
		return FRAME_TYPE_POD;
	if ((on == FRAME_TYPE_ROOT || on == FRAME_TYPE_POD) && begins_with(name, len, "[Con]"))
		return FRAME_TYPE_CONTAINER;
	if ((on == FRAME_TYPE_ROOT || on == FRAME_TYPE_CONTAINER) && head_frame_pid(name, len))
		return FRAME_TYPE_PROCESS;
	return FRAME_TYPE_NATIVE;
}
