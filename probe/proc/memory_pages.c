// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/memory_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096u
#define PLACES	   4096u /* 16 MiB; a page has one place, by the low bits of its number */

struct memory_pages {
	const struct process_memory *behind;
	uint64_t bytes, bytes_max;
	uint8_t *data; /* of all places; the kernel gives what is written to */
	/* The number of the page in each place, plus 1; 0: none. */
	uint64_t numbers[PLACES];
};

int memory_pages_new(struct memory_pages **ret, const struct process_memory *behind,
		     uint64_t bytes_max)
{
	_cleanup_free_ struct memory_pages *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return -ENOMEM;
	pages->data = malloc((size_t)PLACES * PAGE_BYTES);
	if (!pages->data)
		return -ENOMEM;
	pages->behind = behind;
	pages->bytes_max = bytes_max;
	*ret = TAKE_PTR(pages);
	return 0;
}

void memory_pages_free(struct memory_pages *pages)
{
	if (pages)
		free(pages->data);
	free(pages);
}

/* Finds a page, reads it if need be. */
static int find_page(struct memory_pages *pages, uint64_t number, const uint8_t **page)
{
	size_t place = number % PLACES;
	uint8_t *data = pages->data + place * PAGE_BYTES;

	if (pages->numbers[place] != number + 1) {
		pages->bytes += PAGE_BYTES;
		if (pages->bytes > pages->bytes_max)
			return -ENOSPC;
		pages->numbers[place] = 0;
		int r = pages->behind->read(pages->behind->arg, number * PAGE_BYTES, data,
					    PAGE_BYTES);
		if (r < 0)
			return r;
		pages->numbers[place] = number + 1;
	}
	*page = data;
	return 0;
}

int memory_pages_read(struct memory_pages *pages, uint64_t address, void *to, size_t bytes)
{
	const uint8_t *page;

	for (size_t done = 0; done < bytes;) {
		uint64_t at = address + done;
		size_t some = PAGE_BYTES - at % PAGE_BYTES;

		if (some > bytes - done)
			some = bytes - done;
		int r = find_page(pages, at / PAGE_BYTES, &page);
		if (r < 0)
			return r;
		memcpy((uint8_t *)to + done, page + at % PAGE_BYTES, some);
		done += some;
	}
	return 0;
}

uint64_t memory_pages_bytes(const struct memory_pages *pages)
{
	return pages->bytes;
}
