// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A version is PY_VERSION_HEX: major, minor and micro in a byte each, then four bits for the level
 * (alpha, beta, candidate, final) and four for its number.
 *
 * Source: CPython's Doc/c-api/apiabiversion.rst.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "python/cpython_state.h"

#define PIECE	    65536
#define TEXT_MAX    24			/* bytes of a version's text, with the NULs around it */
#define SEARCH_MAX  (64u * 1024 * 1024) /* bytes of data, .rodata is under 2 MiB */
#define VERSION_MAX 10			/* 3.11 and later have Py_Version */

static bool read_symbol(int fd, const struct elf_segment *segments, size_t count, uint64_t address,
			uint32_t *version)
{
	for (size_t i = 0; i < count; i++) {
		const struct elf_segment *segment = &segments[i];
		uint64_t skip = address - segment->address;

		if (skip >= segment->file_bytes || segment->file_bytes - skip < sizeof(*version))
			continue;
		return elf_pread(fd, version, sizeof(*version), segment->file_offset + skip) == 0;
	}
	return false;
}

/* Reads a number of one or two digits. */
static bool take_number(const char **at, uint32_t *number)
{
	*number = 0;
	for (int i = 0; i < 2 && **at >= '0' && **at <= '9'; i++)
		*number = *number * 10 + (uint32_t)(*(*at)++ - '0');
	return (*at)[-1] >= '0' && (*at)[-1] <= '9';
}

/* Parses "3.9.1", "3.10.0rc2", "3.8.18+"; 0: the text is no version. `text` ends with a NUL. */
static uint32_t parse_version(const char *text)
{
	const char *at = text + 2; /* after "3." */
	uint32_t minor, micro, level = 0xf, serial = 0;

	if (!take_number(&at, &minor) || minor > VERSION_MAX || *at++ != '.' ||
	    !take_number(&at, &micro))
		return 0;
	if (*at == 'a' || *at == 'b' || (*at == 'r' && at[1] == 'c')) {
		level = *at == 'a' ? 0xa : *at == 'b' ? 0xb : 0xc;
		at += level == 0xc ? 2 : 1;
		if (!take_number(&at, &serial) || serial > 0xf)
			return 0;
	}
	if (*at == '+')
		at++;
	return *at ? 0 : 3u << 24 | minor << 16 | micro << 8 | level << 4 | serial;
}

/* The versions found: all must have the same minor version; the first one counts. */
struct versions {
	uint32_t version;
	bool mixed;
};

static void add_version(struct versions *versions, uint32_t version)
{
	if (!versions->version)
		versions->version = version;
	versions->mixed |= ((versions->version ^ version) & 0xffff0000) != 0;
}

/* Returns whether a version may follow this byte. A linker stores a text as the end of another one,
 * as of a path, `/opt/python/3.9.1`. */
static bool may_begin(char before)
{
	return before == '/' || before == '-' || before == ' ';
}

static void search_text(const char *text, size_t bytes, struct versions *whole,
			struct versions *tails)
{
	const char *at = text, *end = text + bytes;

	while ((at = memmem(at, (size_t)(end - at), "3.", 2))) {
		const char *begin = at++;
		size_t left = (size_t)(end - begin);
		size_t len = strnlen(begin, left < TEXT_MAX ? left : TEXT_MAX);
		uint32_t found = 0;

		if (begin > text && begin + len < end && len < TEXT_MAX - 1 &&
		    (!begin[-1] || may_begin(begin[-1])))
			found = parse_version(begin);
		if (found)
			add_version(begin[-1] ? tails : whole, found);
	}
}

static uint32_t find_text(int fd, const struct elf_segment *segments, size_t count)
{
	_cleanup_free_ char *text = malloc(PIECE);
	uint64_t left = SEARCH_MAX;
	struct versions whole = {0}, tails = {0};

	if (!text)
		return 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = segments[i].file_bytes < left ? segments[i].file_bytes : left;

		/* Pieces overlap, because a text may lie across an end. */
		for (uint64_t at = 0; at < bytes; at += PIECE - TEXT_MAX) {
			size_t n = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;

			if (elf_pread(fd, text, n, segments[i].file_offset + at) < 0)
				return 0;
			search_text(text, n, &whole, &tails);
		}
		left -= bytes;
	}
	if (whole.version)
		return whole.mixed ? 0 : whole.version;
	return tails.mixed ? 0 : tails.version;
}

uint32_t cpython_version(int fd, const struct elf_image *image, uint64_t symbol)
{
	uint32_t version;

	if (symbol) {
		if (read_symbol(fd, image->data, image->data_count, symbol, &version) ||
		    read_symbol(fd, image->segments, image->segments_count, symbol, &version))
			return version >> 24 == 3 ? version : 0;
		return 0;
	}
	version = find_text(fd, image->data, image->data_count);
	/* Older linkers put read-only data beside the code. */
	return version ? version : find_text(fd, image->segments, image->segments_count);
}
