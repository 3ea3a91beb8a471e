// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096

/* Page n of the file is only ever in slot n % count; count is a power of two. */
struct page {
	uint64_t number;
	size_t bytes; /* 0: the slot is empty */
	uint8_t data[PAGE_BYTES];
};

struct pages {
	int fd;
	size_t count;
	struct page slots[];
};

int pages_new(struct pages **ret, int fd, size_t count)
{
	struct pages *pages = calloc(1, sizeof(*pages) + count * sizeof(pages->slots[0]));

	if (!pages)
		return -ENOMEM;
	pages->fd = fd;
	pages->count = count;
	*ret = pages;
	return 0;
}

void pages_free(struct pages *pages)
{
	free(pages);
}

static void page_load(int fd, struct page *page, uint64_t number)
{
	page->number = number;
	page->bytes = 0;
	while (page->bytes < PAGE_BYTES) {
		ssize_t n = pread(fd, page->data + page->bytes, PAGE_BYTES - page->bytes,
				  (off_t)(number * PAGE_BYTES + page->bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		page->bytes += (size_t)n;
	}
}

const uint8_t *pages_at(struct pages *pages, uint64_t offset, size_t *bytes)
{
	uint64_t number = offset / PAGE_BYTES;
	size_t in_page = (size_t)(offset % PAGE_BYTES);
	struct page *page = &pages->slots[number & (pages->count - 1)];

	if (offset > INT64_MAX)
		return NULL;
	if (page->number != number || !page->bytes)
		page_load(pages->fd, page, number);
	if (in_page >= page->bytes)
		return NULL;
	*bytes = page->bytes - in_page;
	return page->data + in_page;
}

int pages_read(struct pages *pages, uint64_t offset, void *to, size_t bytes)
{
	char *at = to;

	while (bytes) {
		size_t len;
		const uint8_t *from = pages_at(pages, offset, &len);

		if (!from)
			return -EIO;
		if (len > bytes)
			len = bytes;
		memcpy(at, from, len);
		at += len;
		offset += len;
		bytes -= len;
	}
	return 0;
}
