// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/cpython.h"

int cpython_of_process(const struct process_memory *memory, const struct cpython_file *file,
		       uint64_t bias, struct python_layout *layout)
{
	unsigned char debug[PYTHON_DEBUG_OFFSETS_BYTES];
	size_t bytes = file->version >> 16 >= 0x030d ? sizeof(debug) : 0;
	int r = bytes ? memory->read(memory->arg, file->runtime + bias, debug, bytes) : 0;

	if (r == 0)
		r = python_layout_of(file->version, debug, bytes, layout);
	if (r < 0)
		return r;
	layout->walk.runtime = file->runtime + bias;
	layout->walk.code_type = file->code_type + bias;
	layout->function_type = file->function_type ? file->function_type + bias : 0;
	layout->walk.loop = file->linked.from + bias;
	layout->walk.loop_bytes = (uint32_t)(file->linked.to - file->linked.from);
	return 0;
}
