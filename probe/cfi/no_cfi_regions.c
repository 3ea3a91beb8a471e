// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/no_cfi_regions.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cfi/rows.h"

#define GAP_MIN	      64 /* bytes; a smaller gap holds no function worth a row */
#define PIECES_MAX    16 /* pieces of a large gap that are searched, evenly spread */
#define PIECE_BYTES   16384
#define BYTES_A_FRAME 4096 /* at most so many bytes for each function that saves rbp or x29 */

static const struct rule none = {.kind = RULE_NONE};
static const struct rule frames = {.kind = RULE_FRAMES};

struct gaps {
	int fd;
	const struct elf_image *image;
	row_sink sink;
	void *arg;
	uint8_t *bytes; /* buffer of PIECE_BYTES */
	bool open;	/* the current row is a gap */
	uint64_t from;	/* where the open gap begins */
	bool told;	/* the sink has a row for `from`, or needs none */
	uint64_t rows;	/* rows given in addition to those of rows_read() */
	int error;	/* of reading the file */
};

/* Counts push rbp; mov rbp, rsp (in both encodings of mov). */
static size_t count_x86_64(const uint8_t *bytes, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i + 4 <= count; i++)
		found += bytes[i] == 0x55 && bytes[i + 1] == 0x48 &&
			 ((bytes[i + 2] == 0x89 && bytes[i + 3] == 0xe5) ||
			  (bytes[i + 2] == 0x8b && bytes[i + 3] == 0xec));
	return found;
}

/* Counts push ebp; mov ebp, esp. */
static size_t count_i386(const uint8_t *bytes, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i + 3 <= count; i++)
		found += bytes[i] == 0x55 && ((bytes[i + 1] == 0x89 && bytes[i + 2] == 0xe5) ||
					      (bytes[i + 1] == 0x8b && bytes[i + 2] == 0xec));
	return found;
}

/* Counts stp x29, x30, [sp, #n]! */
static size_t count_arm64(const uint8_t *bytes, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i + 4 <= count; i += 4) {
		uint32_t instruction;

		memcpy(&instruction, bytes + i, sizeof(instruction));
		found += (instruction & 0xffc07fff) == 0xa9807bfd;
	}
	return found;
}

static bool keeps_frames(struct gaps *gaps, uint64_t offset, uint64_t bytes)
{
	uint64_t pieces = (bytes + PIECE_BYTES - 1) / PIECE_BYTES, looked = 0, found = 0;
	uint64_t step = pieces > PIECES_MAX ? bytes / PIECES_MAX : PIECE_BYTES;

	for (uint64_t at = 0; at < bytes && gaps->error == 0; at += step & ~UINT64_C(3)) {
		size_t count = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;

		gaps->error = elf_pread(gaps->fd, gaps->bytes, count, offset + at);
		if (gaps->error < 0)
			return false;
		found += gaps->image->machine == EM_AARCH64 ? count_arm64(gaps->bytes, count)
			 : gaps->image->machine == EM_386   ? count_i386(gaps->bytes, count)
							    : count_x86_64(gaps->bytes, count);
		looked += count;
	}
	return found && found >= looked / BYTES_A_FRAME;
}

static int give_row(struct gaps *gaps, uint64_t address, const struct rule *rule)
{
	gaps->rows++;
	return gaps->sink(gaps->arg, address, rule);
}

/* Gives rows for the part of the gap that lies in `segment`, and moves *from, up to which the gap
 * has its rows. */
static int tell_part(struct gaps *gaps, const struct elf_segment *segment, uint64_t *from,
		     uint64_t until)
{
	uint64_t start = segment->address > *from ? segment->address : *from;
	uint64_t end = segment->address + segment->file_bytes;

	if (end > until)
		end = until;
	if (start >= end || end - start < GAP_MIN || end < segment->address ||
	    !keeps_frames(gaps, segment->file_offset + (start - segment->address), end - start))
		return gaps->error;
	int r = 0;
	if (start > *from && !gaps->told)
		r = give_row(gaps, *from, &none);
	gaps->told = true;
	if (r == 0)
		r = give_row(gaps, start, &frames);
	if (r == 0 && end < until)
		r = give_row(gaps, end, &none);
	*from = end;
	return r;
}

static int close_gap(struct gaps *gaps, uint64_t until)
{
	uint64_t from = gaps->from;
	int r = 0;

	if (!gaps->open)
		return 0;
	gaps->open = false;
	for (size_t i = 0; r == 0 && i < gaps->image->segments_count; i++)
		r = tell_part(gaps, &gaps->image->segments[i], &from, until);
	if (r == 0 && !gaps->told)
		r = give_row(gaps, gaps->from, &none);
	return r;
}

static int pass_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct gaps *gaps = arg;
	int r = close_gap(gaps, address);

	if (r != 0 || rule->kind != RULE_NONE)
		return r != 0 ? r : gaps->sink(gaps->arg, address, rule);
	gaps->open = true;
	gaps->told = false;
	gaps->from = address;
	gaps->rows--; /* rows_read() counted it, close_gap() gives it later */
	return 0;
}

int no_cfi_regions_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
			struct cfi_stats *stats)
{
	_cleanup_free_ uint8_t *bytes = malloc(PIECE_BYTES);
	struct gaps gaps = {
		.fd = fd,
		.image = image,
		.sink = sink,
		.arg = arg,
		.bytes = bytes,
		.open = true, /* before the first row */
		.told = true,
	};

	if (!bytes)
		return -ENOMEM;
	int r = rows_read(fd, image, pass_row, &gaps, stats);
	if (r == 0)
		r = close_gap(&gaps, UINT64_MAX);
	stats->rows += gaps.rows;
	return r;
}
