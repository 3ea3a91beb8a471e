// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the pieces of the interpreter's loop. A compiler puts code that runs seldom elsewhere
 * (.cold); if the profile that guided the compiler was of other code, this is nearly the whole
 * loop: Debian's 3.14 has 1 KiB of the loop in its function and 84 KiB elsewhere. A stripped file
 * has no symbol for these pieces; they are found by the jumps that lead there.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "proc/symbol_lookup.h"
#include "proc/uprobe_site.h"
#include "cfi/cfi_ranges.h"
#include "python/cpython_state.h"

#define CODE_MAX  (1024u * 1024) /* bytes of a piece; the largest known has 84 KiB */
#define LEAPS_MAX 4096		 /* jumps out of one piece; hundreds are usual */

struct leaps {
	const struct cpython_range *pieces; /* as linked */
	size_t pieces_count;
	uint64_t to[LEAPS_MAX];
	size_t count;
};

struct loop_search {
	int fd;
	const struct elf_image *image;
	struct cpython_range pieces[CPYTHON_RANGES_MAX]; /* as linked */
	size_t count;
	struct leaps leaps;
	uint8_t code[CODE_MAX];
};

static bool is_inside(const struct cpython_range *pieces, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++) {
		if (address >= pieces[i].from && address < pieces[i].to)
			return true;
	}
	return false;
}

static bool piece_overlaps(const struct loop_search *search, const struct cfi_range *piece)
{
	for (size_t i = 0; i < search->count; i++) {
		if (piece->from < search->pieces[i].to && search->pieces[i].from < piece->to)
			return true;
	}
	return false;
}

static void meet_leap(void *arg, const struct uprobe_site_jump *leap)
{
	struct leaps *leaps = arg;

	if (!leap->is_call && !leap->by_slot && leaps->count < LEAPS_MAX &&
	    !is_inside(leaps->pieces, leaps->pieces_count, leap->address))
		leaps->to[leaps->count++] = leap->address;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static bool leads_into(const struct leaps *leaps, const struct cfi_range *piece)
{
	for (size_t i = 0; i < leaps->count; i++) {
		if (leaps->to[i] > piece->from && leaps->to[i] < piece->to)
			return true;
	}
	return false;
}

/* Adds a piece. A jump only to the start of a piece that can be called is a tail call of another
 * function: such a piece isn't added. */
static int meet_piece(void *arg, const struct cfi_range *piece)
{
	struct loop_search *search = arg;

	if (search->count == CPYTHON_RANGES_MAX || piece->to - piece->from > CODE_MAX ||
	    piece_overlaps(search, piece) ||
	    (piece->callable && !leads_into(&search->leaps, piece)))
		return 0;
	search->pieces[search->count++] = (struct cpython_range){piece->from, piece->to};
	return 0;
}

static int read_piece(struct loop_search *search, const struct cpython_range *piece)
{
	uint64_t offset;

	if (!symbol_offset(search->image, piece->from, &offset))
		return -ENOENT;
	return elf_pread(search->fd, search->code, piece->to - piece->from, offset);
}

/* Adds the pieces to which this piece jumps. */
static int follow_leaps(struct loop_search *search, const struct cpython_range *piece)
{
	int r = read_piece(search, piece);

	if (r < 0)
		return r;
	search->leaps.pieces = search->pieces;
	search->leaps.pieces_count = search->count;
	search->leaps.count = 0;
	uprobe_site_jumps(search->code, piece->to - piece->from, piece->from, meet_leap,
			  &search->leaps);
	if (!search->leaps.count)
		return 0;
	qsort(search->leaps.to, search->leaps.count, sizeof(search->leaps.to[0]),
	      compare_addresses);
	return cfi_ranges_at(search->fd, search->image, search->leaps.to, search->leaps.count,
			     meet_piece, search);
}

/* Adds the function itself as the first piece. Its symbol may have no size: then its FDE has. */
static int add_first_piece(struct loop_search *search, const struct cpython_symbols *symbols)
{
	if (symbols->loop_bytes && symbols->loop_bytes <= CODE_MAX) {
		search->pieces[search->count++] =
			(struct cpython_range){symbols->loop, symbols->loop + symbols->loop_bytes};
		return 0;
	}
	search->leaps.to[0] = symbols->loop + 1; /* not the start, so that meet_piece() adds it */
	search->leaps.count = 1;
	return cfi_ranges_at(search->fd, search->image, search->leaps.to, 1, meet_piece, search);
}

static void take_pieces(struct loop_search *search, struct cpython_file *file)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct cpython_range *piece = &search->pieces[i];
		uint64_t from, last;

		if (symbol_offset(search->image, piece->from, &from) &&
		    symbol_offset(search->image, piece->to - 1, &last) && from <= last)
			file->loop[file->loop_count++] = (struct cpython_range){from, last + 1};
	}
}

int cpython_loop(int fd, const struct elf_image *image, const struct cpython_symbols *symbols,
		 struct cpython_file *file)
{
	_cleanup_free_ struct loop_search *search = calloc(1, sizeof(*search));
	int r;

	if (!search)
		return -ENOMEM;
	search->fd = fd;
	search->image = image;
	r = add_first_piece(search, symbols);
	for (size_t i = 0; r == 0 && i < search->count; i++)
		r = follow_leaps(search, &search->pieces[i]);
	if (r < 0 && r != -ENOENT && r != -EFBIG && r != -EBADMSG)
		return r;
	take_pieces(search, file);
	file->linked = search->pieces[0];
	return file->loop_count ? 0 : -ENOENT;
}
