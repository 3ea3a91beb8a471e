// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/trim.h"

#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Drops the whole pages of those segments that have no rights but `rights`. Nobody writes to such
 * pages, and neither did the loader. */
static void drop_pages(const struct dl_phdr_info *object, unsigned rights)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + segment->p_vaddr;
		uintptr_t end = (start + segment->p_filesz) & ~(page - 1);

		start = (start + page - 1) & ~(page - 1);
		if (segment->p_type == PT_LOAD && !(segment->p_flags & ~rights) && start < end)
			madvise((void *)start, end - start, MADV_DONTNEED);
	}
}

/* dl_iterate_phdr() reports the program first; 1 ends the iteration. */
static int forget_constants(struct dl_phdr_info *program, size_t bytes, void *arg)
{
	(void)bytes;
	(void)arg;
	drop_pages(program, PF_R);
	return 1;
}

static int forget_code(struct dl_phdr_info *object, size_t bytes, void *arg)
{
	(void)bytes;
	(void)arg;
	drop_pages(object, PF_R | PF_X);
	return 0;
}

void trim_memory(void)
{
	malloc_trim(0);
	dl_iterate_phdr(forget_constants, NULL);
}

void trim_code(void)
{
	dl_iterate_phdr(forget_code, NULL);
}
