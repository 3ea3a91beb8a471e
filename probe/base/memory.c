// SPDX-License-Identifier: GPL-2.0-only
#include "base/memory.h"

#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Segments that nobody writes or runs, nor the loader wrote: of the program, which comes first. */
static int forget_constants(struct dl_phdr_info *program, size_t bytes, void *arg)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)bytes;
	(void)arg;
	for (size_t i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
		uintptr_t start = program->dlpi_addr + segment->p_vaddr;
		uintptr_t end = (start + segment->p_filesz) & ~(page - 1);

		start = (start + page - 1) & ~(page - 1);
		if (segment->p_type == PT_LOAD && segment->p_flags == PF_R && start < end)
			madvise((char *)program->dlpi_addr + (start - program->dlpi_addr),
				end - start, MADV_DONTNEED);
	}
	return 1;
}

void memory_give_back(void)
{
	malloc_trim(0);
	dl_iterate_phdr(forget_constants, NULL);
}
