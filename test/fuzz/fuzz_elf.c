// SPDX-License-Identifier: GPL-2.0-only
/* Bytes as an ELF file, as its own debug file too, and look-ups all over it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/elf.h"
#include "symbol/native.h"

#define FILE_MAX (1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void demand(bool holds)
{
	if (!holds)
		abort();
}

static void check_extent(const struct elf_image *image, const struct elf_extent *extent)
{
	demand(extent->offset <= image->file_bytes &&
	       extent->bytes <= image->file_bytes - extent->offset);
}

static void check_image(const struct elf_image *image)
{
	check_extent(image, &image->symtab.symbols);
	check_extent(image, &image->symtab.strings);
	check_extent(image, &image->dynsym.symbols);
	check_extent(image, &image->dynsym.strings);
	check_extent(image, &image->eh_frame_hdr);
	demand(image->segments_count <= ELF_SEGMENTS_MAX);
	demand(image->build_id_bytes <= BUILD_ID_MAX);
	demand(memchr(image->debuglink, '\0', sizeof(image->debuglink)) != NULL);
	demand(strchr(image->debuglink, '/') == NULL);
}

static void look_up(const struct elf_image *image, const struct native_table *table)
{
	size_t name_bytes = 0;

	for (size_t i = 0; i < image->segments_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t step = segment->file_bytes / 64 + 1;

		for (uint64_t at = 0; at <= segment->file_bytes; at += step) {
			struct native_function function;

			if (native_table_find(table, segment->file_offset + at, &function) == 0 &&
			    function.name)
				name_bytes += strlen(function.name);
		}
	}
	demand(name_bytes < (size_t)-1);
	demand(native_table_bytes(table) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	struct elf_image image;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (bytes > FILE_MAX)
		return 0;
	demand(ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
	int r = elf_read(fd, &image);
	if (r == 0)
		check_image(&image);
	for (int debug_fd = -1; debug_fd <= fd; debug_fd += fd + 1) {
		struct native_table *table = NULL;

		if (native_table_load(&table, fd, debug_fd) < 0)
			continue;
		demand(r == 0);
		look_up(&image, table);
		native_table_free(table);
	}
	return 0;
}
