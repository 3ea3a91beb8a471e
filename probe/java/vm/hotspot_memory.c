// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "java/vm/hotspot_state.h"

/* Returns the page that holds the address; NULL if the page can't be read as a whole. */
static const unsigned char *page_of(struct vm_memory *memory, uint64_t address)
{
	uint64_t begin = address & ~(uint64_t)(VM_PAGE_BYTES - 1);
	size_t place = begin / VM_PAGE_BYTES & (VM_PAGES - 1);

	if (memory->kept[place] != begin + 1) {
		memory->kept[place] = 0;
		if (memory->of->read(memory->of->arg, begin, memory->pages[place], VM_PAGE_BYTES) <
		    0)
			return NULL;
		memory->kept[place] = begin + 1;
	}
	return memory->pages[place];
}

int vm_read(struct vm_memory *memory, uint64_t address, void *to, size_t bytes)
{
	unsigned char *at = to;

	if (address + bytes < address)
		return -EFAULT;
	while (bytes) {
		const unsigned char *page = page_of(memory, address);
		size_t offset = address & (VM_PAGE_BYTES - 1), n = VM_PAGE_BYTES - offset;

		n = n < bytes ? n : bytes;
		if (!page) /* perhaps a part of the page can be read; else this has the errno */
			return memory->of->read(memory->of->arg, address, at, bytes);
		memcpy(at, page + offset, n);
		at += n;
		address += n;
		bytes -= n;
	}
	return 0;
}

int vm_word(struct vm_memory *memory, uint64_t address, uint64_t *word)
{
	return vm_read(memory, address, word, sizeof(*word));
}

int vm_number(struct vm_memory *memory, uint64_t address, unsigned bytes, uint64_t *to)
{
	*to = 0; /* the byte order is ours (proc/elf.h) */
	return bytes > sizeof(*to) ? -EBADMSG : vm_read(memory, address, to, bytes);
}

int vm_text(struct vm_memory *memory, uint64_t address, char *to, size_t bytes)
{
	size_t len = 0;

	while (len < bytes - 1) {
		size_t left = VM_PAGE_BYTES - (address & (VM_PAGE_BYTES - 1));
		size_t n = bytes - 1 - len < left ? bytes - 1 - len : left;
		int r = vm_read(memory, address, to + len, n);

		if (r < 0)
			return r;
		if (memchr(to + len, '\0', n))
			return 0;
		len += n;
		address += n;
	}
	to[len] = '\0';
	return 0;
}
