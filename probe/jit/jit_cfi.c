// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of CFI wants a file: the section is put into one that lies in memory. */
#include "jit/jit_cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "cfi/cfi.h"

static int take_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct jit_row_list *rows = arg;

	if (rows->count == JIT_ROWS_MAX)
		return -EFBIG;
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
	if (r == 0 || r == -ENOMEM || rows->count == JIT_ROWS_MAX)
		return r;
	rows->count = before; /* what makes no sense has no rows */
	return 0;
}

/* Reads .eh_frame where it was loaded: there, not in an object file, are its addresses. */
static int read_loaded(const struct jit_elf *elf, const struct process_memory *memory,
		       struct jit_row_list *rows, uint64_t *checksum)
{
	if (!elf->eh_frame_at || !elf->eh_frame_bytes || elf->eh_frame_bytes > JIT_ELF_MAX)
		return 0;
	_cleanup_free_ uint8_t *bytes = malloc(elf->eh_frame_bytes);
	if (!bytes)
		return -ENOMEM;
	if (memory->read(memory->arg, elf->eh_frame_at, bytes, elf->eh_frame_bytes) < 0)
		return 0;
	*checksum = hash_bytes(0, bytes, elf->eh_frame_bytes);
	return read_section(elf, bytes, elf->eh_frame_bytes, false, rows);
}

int jit_cfi_read(const struct jit_elf *elf, const struct process_memory *memory,
		 struct jit_row_list *rows, uint64_t *checksum)
{
	size_t before = rows->count;

	*checksum = 0;
	if (elf->is_relocatable) /* nobody has relocated the copy */
		return read_loaded(elf, memory, rows, checksum);
	int r = 0;
	if (elf->eh_frame.count)
		r = read_section(elf, elf->bytes + elf->eh_frame.at, elf->eh_frame.count, false,
				 rows);
	if (r == 0 && rows->count == before && elf->debug_frame.count)
		r = read_section(elf, elf->bytes + elf->debug_frame.at, elf->debug_frame.count,
				 true, rows);
	return r;
}
