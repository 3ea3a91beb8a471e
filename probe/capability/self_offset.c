// SPDX-License-Identifier: GPL-2.0-or-later
#include "capability/self_offset.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>

struct offset_search {
	uintptr_t address;
	uint64_t offset;
	bool found;
};

static int find_segment(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct offset_search *search = arg;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || search->address - start >= segment->p_filesz)
			continue;
		search->offset = search->address - start + segment->p_offset;
		search->found = true;
	}
	return 1; /* stop: the first object is the program itself */
}

int self_offset(uintptr_t function, uint64_t *offset)
{
	struct offset_search search = {.address = function};

	dl_iterate_phdr(find_segment, &search);
	if (!search.found)
		return -ENOEXEC;
	*offset = search.offset;
	return 0;
}
