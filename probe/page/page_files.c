// SPDX-License-Identifier: GPL-2.0-or-later
#include "page/page_files.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define PAGE_SCRIPT			"text/javascript; charset=utf-8"

#define DECLARATION(symbol, file, type) extern const unsigned char symbol[], symbol##_end[];
PAGE_FILES(DECLARATION)

#define ROW(symbol, file, type) {#file, type, symbol, symbol##_end},
static const struct {
	const char *name, *content_type;
	const unsigned char *from, *until;
} rows[] = {PAGE_FILES(ROW)};

/* A gzip file ends with the CRC and the length of what is in it (RFC 1952). */
static uint64_t print_of(const unsigned char *until)
{
	uint64_t print;

	memcpy(&print, until - sizeof(print), sizeof(print));
	return print;
}

bool page_file_find(const char *name, struct page_file *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		*file = (struct page_file){rows[i].name, rows[i].content_type, rows[i].from,
					   (size_t)(rows[i].until - rows[i].from), ""};
		snprintf(file->etag, sizeof(file->etag), "\"%016llx\"",
			 (unsigned long long)print_of(rows[i].until));
		return true;
	}
	return false;
}
