// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of CFI wants a file: the section is put into one that lies in memory. */
#include "jit/jit_cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "cfi/cfi.h"

static int take_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct jit_row_list *rows = arg;

	if (rows->count == JIT_ROWS_MAX) {
		rows->is_full = true;
		return -EFBIG;
	}
	int r = array_grow(rows->rows, rows->room, rows->count + 1, 256);
	if (r == 0)
		rows->rows[rows->count++] = (struct jit_row){address, *rule};
	return r;
}

/* Returns one segment that holds all code. */
static struct elf_segment segment_of(const struct jit_elf *elf)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < elf->code_count; i++) {
		low = elf->code[i].start < low ? elf->code[i].start : low;
		high = elf->code[i].end > high ? elf->code[i].end : high;
	}
	return (struct elf_segment){.address = low, .file_bytes = high - low};
}

static int read_section(const struct jit_elf *elf, const uint8_t *bytes, size_t count, bool debug,
			struct jit_row_list *rows)
{
	struct elf_image image = {.wide = true, .machine = elf->machine};
	struct elf_extent extent = {0, count};
	struct cfi_stats stats;
	size_t before = rows->count;

	_cleanup_close_ int fd = memfd_create("jit", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
		return -ENOMEM;
	image.segments[0] = segment_of(elf);
	image.segments_count = 1;
	image.frames.text_address = elf->text_at;
	if (debug)
		image.frames.debug_frame = extent;
	else
		image.frames.eh_frame = extent;
	image.frames.eh_frame_address = elf->eh_frame_at;
	int r = cfi_read(fd, &image, take_row, rows, &stats);
	if (r == 0 || r == -ENOMEM)
		return r;
	rows->count = before; /* what makes no sense, or finds no room, has no rows */
	return 0;
}

int jit_cfi_read(const struct jit_file *file, struct jit_row_list *rows)
{
	const struct jit_elf *elf = &file->elf;
	size_t before = rows->count;
	int r = 0;

	if (file->frames)
		return read_section(elf, file->frames, elf->eh_frame_bytes, false, rows);
	if (elf->is_relocatable) /* nobody has relocated the copy */
		return 0;
	if (elf->eh_frame.count)
		r = read_section(elf, elf->bytes + elf->eh_frame.at, elf->eh_frame.count, false,
				 rows);
	if (r == 0 && rows->count == before && elf->debug_frame.count)
		r = read_section(elf, elf->bytes + elf->debug_frame.at, elf->debug_frame.count,
				 true, rows);
	return r;
}
