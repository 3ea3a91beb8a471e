// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes as an ELF file with an allocator, and as the code of a function. */
#include "fuzz.h"

#include "alloc/allocator.h"
#include "proc/uprobe_site.h"

static void check_functions(const struct allocator *allocator, size_t bytes)
{
	demand(allocator->kind < ALLOCATOR_COUNT && allocator->count <= ALLOCATOR_FUNCTIONS_MAX);
	demand(allocator->kind != ALLOCATOR_NONE || !allocator->count);
	for (size_t i = 0; i < allocator->count; i++) {
		const struct allocator_function *function = &allocator->functions[i];

		demand(function->call < CALL_COUNT_OF && function->arguments <= 6);
		demand(function->file_offset < bytes);
		for (size_t k = 0; k < i; k++)
			demand(allocator->functions[k].address != function->address);
	}
}

static void take_leap(void *arg, const struct uprobe_site_jump *leap)
{
	size_t *count = arg;

	(void)leap;
	++*count;
}

static void read_code(const uint8_t *data, size_t bytes)
{
	struct uprobe_site straight;
	size_t leaps = 0;

	for (unsigned arguments = 0; arguments <= 6; arguments += 3) {
		uprobe_site_find(data, bytes, arguments, &straight);
		demand(straight.offset < 64);
		demand(straight.emulated ? straight.offset < bytes
					 : !straight.offset && !straight.pushed);
	}
	uprobe_site_jumps(data, bytes < 4096 ? bytes : 4096, 0x1000, take_leap, &leaps);
	demand(leaps <= bytes / 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct allocator allocator;
	struct elf_image image;

	if (bytes > FUZZ_FILE_MAX)
		return 0;
	read_code(data, bytes);
	int fd = fuzz_file(data, bytes);
	if (elf_read(fd, &image) == 0 && allocator_read(fd, &image, &allocator) == 0)
		check_functions(&allocator, bytes);
	return 0;
}
