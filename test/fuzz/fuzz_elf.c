// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes as an ELF file, as its own debug file too, and look-ups all over it. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/elf.h"
#include "elf/native.h"
#include "cfi/gopclntab.h"

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
	check_extent(image, &image->gopclntab);
	check_extent(image, &image->gnu_debugdata);
	demand(image->segments_count <= ELF_SEGMENTS_MAX);
	demand(image->data_count <= ELF_SEGMENTS_MAX);
	for (size_t i = 0; i < image->data_count; i++)
		check_extent(image, &(struct elf_extent){image->data[i].file_offset,
							 image->data[i].file_bytes});
	demand(image->build_id_bytes <= BUILD_ID_MAX);
	demand(memchr(image->debuglink, '\0', sizeof(image->debuglink)) != NULL);
	demand(strchr(image->debuglink, '/') == NULL);
}

static void check_functions(const struct native_function *functions, size_t count,
			    const struct buf *names)
{
	for (size_t i = 0; i < count; i++) {
		const struct native_function *function = &functions[i];

		if (function->from == function->to)
			continue;
		demand(function->from <= function->offset && function->offset < function->to);
		demand(function->name == NATIVE_NO_NAME ||
		       memchr(names->data + function->name, '\0', names->len - function->name));
	}
}

/* All over the file, then what was answered again, alone: it has to be the same. */
static void look_up(int fd, int debug_fd, uint64_t bytes)
{
	static struct native_function functions[128];
	_cleanup_buf_ struct buf names = BUF_INIT(1 << 20), alone_names = BUF_INIT(1 << 20);
	size_t count = 0;

	for (uint64_t at = 0; at < bytes && count < 128; at += bytes / 128 + 1)
		functions[count++] = (struct native_function){.offset = at};
	if (native_resolve(fd, debug_fd, true, functions, count, &names, NULL) < 0)
		return;
	check_functions(functions, count, &names);
	struct native_function *middle = &functions[count / 2];
	struct native_function alone = {.offset = middle->offset};
	demand(native_resolve(fd, debug_fd, true, &alone, 1, &alone_names, NULL) == 0);
	check_functions(&alone, 1, &alone_names);
	demand((alone.from == alone.to) == (middle->from == middle->to));
	demand(alone.address == middle->address);
}

static int take_row(void *arg, uint64_t address, const struct rule *rule)
{
	uint64_t *next = arg;

	demand(address >= *next && rule->kind <= RULE_CFA);
	*next = address + 1;
	return 0;
}

static void read_rows(int fd, const struct elf_image *image)
{
	struct cfi_stats stats;
	uint64_t next = 0;

	gopclntab_read(fd, image, take_row, &next, &stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct elf_image image;

	if (bytes > FUZZ_FILE_MAX)
		return 0;
	int fd = fuzz_file(data, bytes);
	int r = elf_read(fd, &image);
	if (r == 0)
		check_image(&image);
	struct native_function function = {0};
	struct buf names = BUF_INIT(1);
	demand(r == 0 || native_resolve(fd, -1, true, &function, 1, &names, NULL) == r);
	if (r == 0) {
		look_up(fd, -1, bytes);
		look_up(fd, fd, bytes);
		read_rows(fd, &image);
	}
	return 0;
}
