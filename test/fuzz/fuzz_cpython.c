// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes as a file with an interpreter, and as what a process says of its layout. */
#include "fuzz.h"

#include <string.h>

#include "python/layout.h"
#include "python/cpython.h"

static void check_layout(const struct python_layout *layout)
{
	const struct cpython *walk = &layout->walk;

	demand(walk->frame_words > 0 && walk->frame_words <= CPYTHON_FRAME_WORDS);
	demand(walk->frame_previous <= 8 * (CPYTHON_FRAME_WORDS - 1));
	demand(walk->frame_code <= 8 * (CPYTHON_FRAME_WORDS - 1));
	demand(walk->frame_instr <= 8 * (CPYTHON_FRAME_WORDS - 1));
	demand(walk->frame_owner < 8 * CPYTHON_FRAME_WORDS || walk->frame_owner == CPYTHON_NO);
	demand(walk->code_sum_words > 0 && walk->code_sum_words <= CPYTHON_CODE_WORDS);
	demand(walk->interpreter_threads < 1 << 20);
	demand(layout->unicode_kind_shift + layout->unicode_further_shift < 29);
	demand(layout->instruction_bytes == 1 || layout->instruction_bytes == 2);
}

/* As the process's own version, or as any. */
static void read_layout(const uint8_t *data, size_t bytes)
{
	struct python_layout layout;
	uint32_t version = 0x030d00f0;

	if (bytes >= 12)
		memcpy(&version, data + 8, sizeof(version));
	if (python_layout_of(version, data, bytes, &layout) == 0)
		check_layout(&layout);
}

static void check_file(const struct cpython_file *file, size_t bytes)
{
	demand(file->loop_count > 0 && file->loop_count <= CPYTHON_RANGES_MAX);
	for (size_t i = 0; i < file->loop_count; i++)
		demand(file->loop[i].from < file->loop[i].to && file->loop[i].to <= bytes);
	demand(!file->version || file->version >> 24 == 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct cpython_file file;
	struct elf_image image;

	if (bytes > FUZZ_FILE_MAX)
		return 0;
	read_layout(data, bytes);
	int fd = fuzz_file(data, bytes);
	if (elf_read(fd, &image) < 0)
		return 0;
	if (cpython_find(fd, &image, -1, &file) == 0)
		check_file(&file, bytes);
	if (cpython_find(fd, &image, fd, &file) == 0)
		check_file(&file, bytes);
	return 0;
}
