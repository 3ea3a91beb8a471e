// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/layout.h"

#include <errno.h>
#include <stdbool.h>

#include "python/layouts.h"

#define MINOR_MASK 0xffff0000u

/* PY_VERSION_HEX ends with the level (10 alpha, 11 beta, 12 candidate, 15 final) and its number. */
#define HAS_CODE_VERSIONS 0x030c0000
#define CODE_VERSION_AT	  4 /* offset of co_version from co_nfreevars, with which the sum begins */

static bool is_early(uint32_t version)
{
	return (version >> 4 & 0xf) < 0xc;
}

static int find_layout(uint32_t version, const void *debug_offsets, size_t bytes,
		       struct python_layout *layout)
{
	if (is_early(version))
		return -ENOTSUP;
	for (size_t i = 0; i < python_layouts_count; i++) {
		if (((python_layouts[i].walk.version ^ version) & MINOR_MASK) != 0)
			continue;
		*layout = python_layouts[i];
		layout->walk.version = version;
		return 0;
	}
	for (size_t i = 0; i < python_debugs_count; i++) {
		if (((python_debugs[i].version ^ version) & MINOR_MASK) == 0)
			return python_debug_read(&python_debugs[i], version, debug_offsets, bytes,
						 layout);
	}
	return -ENOTSUP;
}

int python_layout_of(uint32_t version, const void *debug_offsets, size_t bytes,
		     struct python_layout *layout)
{
	int r = find_layout(version, debug_offsets, bytes, layout);

	if (r < 0)
		return r;
	if (version < HAS_CODE_VERSIONS) /* later the sum has co_version, unique to each object */
		layout->walk.code_file = layout->code_filename;
	else
		layout->walk.code_version = layout->walk.code_sum_at + CODE_VERSION_AT;
	layout->walk.ascii_data = (uint8_t)layout->ascii_data;
	layout->walk.ascii_shift = layout->unicode_ascii_shift;
	layout->walk.code_filename = layout->code_filename;
	layout->walk.code_qualname = layout->code_qualname;
	layout->walk.code_lines = layout->code_lines;
	layout->walk.bytes_length = layout->bytes_length;
	layout->walk.bytes_data = layout->bytes_data;
	return 0;
}
