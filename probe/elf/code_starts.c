// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/code_starts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cfi/cfi_ranges.h"
#include "elf/code_refs.h"
#include "elf/elf_dynamic.h"

#define HEADER_MAX (64u * 1024 * 1024)
#define BATCH	   1024
/* Places at which a file's code is read once more: many times what real files need. */
#define LOOKED_MAX (1u << 18)

/* An address that nothing with a size holds, and the nearest starts before and behind it so far. */
struct lone {
	uint32_t address, start, next;
};

struct scan {
	struct code_starts *starts;
	struct lone *lone; /* by address */
	size_t count;
	size_t looked;
};

static bool is_code(const struct code_starts *starts, uint64_t address)
{
	const struct elf_image *image = starts->image;

	for (size_t i = 0; i < image->segments_count; i++) {
		if (address - image->segments[i].address < image->segments[i].file_bytes)
			return address - starts->base < UINT32_MAX;
	}
	return false;
}

/* ---- CFI ---- */

static int meet_piece(void *arg, const struct cfi_range *piece)
{
	struct code_starts *starts = arg;
	struct passing passing = {.name = SEARCH_NO_NAME};

	if (!is_code(starts, piece->from) || piece->to <= piece->from ||
	    piece->to - starts->base >= UINT32_MAX)
		return 0;
	passing.start = (uint32_t)(piece->from - starts->base);
	passing.bytes = (uint32_t)(piece->to - piece->from);
	if (address_search_meet(starts->search, &passing))
		address_search_take(starts->search, &passing);
	return 0;
}

static void meet_start(struct code_starts *starts, uint64_t start)
{
	struct passing passing = {.name = SEARCH_NO_NAME};

	if (!is_code(starts, start))
		return;
	passing.start = (uint32_t)(start - starts->base);
	if (address_search_meet(starts->search, &passing))
		address_search_take(starts->search, &passing);
}

/*
 * Enters the function starts of .eh_frame_hdr, as LSB describes it and every linker writes it:
 * version 1, pointer to .eh_frame, count as udata4 (0x03), table of {start, FDE} as sdata4 relative
 * to this section (0x3b).
 */
static void meet_header_table(struct code_starts *starts)
{
	struct {
		uint8_t version, eh_frame_encoding, count_encoding, table_encoding;
		uint32_t eh_frame;
		uint32_t count;
	} head;
	struct {
		int32_t start, fde;
	} rows[BATCH];
	const struct elf_image *image = starts->image;
	uint64_t at = image->eh_frame_hdr.offset, bytes = image->eh_frame_hdr.bytes;

	if (bytes < sizeof(head) || bytes > HEADER_MAX ||
	    elf_pread(starts->fd, &head, sizeof(head), at) < 0)
		return;
	if (head.version != 1 || head.count_encoding != 0x03 || head.table_encoding != 0x3b ||
	    (head.eh_frame_encoding & 0x0f) == 0x0c || /* 8-byte pointer */
	    head.count > (bytes - sizeof(head)) / sizeof(rows[0]))
		return;
	at += sizeof(head);
	for (uint32_t done = 0; done < head.count;) {
		uint32_t n = head.count - done < BATCH ? head.count - done : BATCH;

		if (elf_pread(starts->fd, rows, n * sizeof(rows[0]), at + done * sizeof(rows[0])) <
		    0)
			return;
		for (uint32_t i = 0; i < n; i++)
			meet_start(starts, image->eh_frame_hdr_address + (uint64_t)rows[i].start);
		done += n;
	}
}

/* ---- what refers to code ---- */

/* Returns the first lone address at or behind `start`. */
static struct lone *lone_from(const struct scan *scan, uint32_t start)
{
	struct lone *from = scan->lone;

	for (size_t left = scan->count; left > 1;) {
		size_t half = left / 2;

		from += from[half - 1].address < start ? half : 0;
		left -= half;
	}
	return from->address < start ? from + 1 : from;
}

/* Enters a begin of a function that is nearer to an address than what is known, if it looks like
 * one. `lone`: the first address at or behind `start`. */
static int enter_start(struct scan *scan, struct lone *lone, uint32_t start)
{
	struct code_starts *starts = scan->starts;
	bool is_nearest = lone < scan->lone + scan->count && start > lone->start;
	bool is_next = lone > scan->lone && start < lone[-1].next;

	if (!is_nearest && !is_next)
		return 0;
	if (++scan->looked > LOOKED_MAX)
		return -ETIME;
	if (!code_refs_may_begin(starts->fd, starts->image, starts->base + start))
		return 0;
	if (is_next)
		lone[-1].next = start;
	if (is_nearest)
		lone->start = start;
	meet_start(starts, starts->base + start);
	return 0;
}

/* Enters a place that something refers to. */
static int meet_referred(struct scan *scan, uint64_t target)
{
	uint32_t start = (uint32_t)(target - scan->starts->base);

	return is_code(scan->starts, target) ? enter_start(scan, lone_from(scan, start), start) : 0;
}

/* Returns whether both lie in what is known to be the function of that address. */
static bool holds_both(const struct lone *lone, uint64_t from, uint32_t to)
{
	return from >= lone->start && from < lone->next && to >= lone->start && to < lone->next;
}

/* A jump from outside of what is known to be one function leads to the begin of another: its last
 * call. */
static int meet_jump(void *arg, uint64_t site, uint64_t target, enum code_ref kind)
{
	struct scan *scan = arg;
	uint64_t from = site - scan->starts->base;
	uint32_t start = (uint32_t)(target - scan->starts->base);

	(void)kind;
	if (!is_code(scan->starts, target))
		return 0;
	struct lone *lone = lone_from(scan, start);
	if ((lone < scan->lone + scan->count && holds_both(lone, from, start)) ||
	    (lone > scan->lone && holds_both(&lone[-1], from, start)))
		return 0;
	return enter_start(scan, lone, start);
}

/* What is known to begin or end around an address also bounds those beside it. */
static void spread_bounds(struct scan *scan)
{
	for (size_t i = 1; i < scan->count; i++) {
		if (scan->lone[i].start < scan->lone[i - 1].start)
			scan->lone[i].start = scan->lone[i - 1].start;
	}
	for (size_t i = scan->count; i-- > 1;) {
		if (scan->lone[i - 1].next > scan->lone[i].next)
			scan->lone[i - 1].next = scan->lone[i].next;
	}
}

static int meet_ref(void *arg, uint64_t site, uint64_t target, enum code_ref kind)
{
	struct scan *scan = arg;

	(void)site;
	(void)kind;
	return meet_referred(scan, target);
}

static int meet_pointer(void *arg, uint64_t target)
{
	return meet_referred(arg, target);
}

static int meet_referrers(struct code_starts *starts)
{
	_cleanup_free_ struct lone *lone = calloc(starts->count + 1, sizeof(*lone));
	struct scan scan = {
		.starts = starts,
		.lone = lone,
	};

	if (!lone)
		return -ENOMEM;
	for (size_t i = 0; i < starts->count; i++) {
		if (!address_search_holds(starts->search, i))
			lone[scan.count++] = (struct lone){
				.address = starts->addresses[i],
				.start = address_search_low(starts->search, i),
				.next = address_search_high(starts->search, i),
			};
	}
	if (!scan.count)
		return 0;
	/* A number is an address only where the file is loaded where it was linked. */
	unsigned kinds = 1u << CODE_CALL | 1u << CODE_ADDRESS |
			 (starts->image->is_fixed ? 1u << CODE_NUMBER : 0);
	int r = meet_referred(&scan, starts->image->entry);
	if (r == 0)
		r = code_refs_scan(starts->fd, starts->image, kinds, meet_ref, &scan,
				   starts->end_ns);
	if (r == 0)
		r = elf_pointers_scan(starts->fd, starts->image, meet_pointer, &scan,
				      starts->end_ns);
	spread_bounds(&scan);
	return r ? r
		 : code_refs_scan(starts->fd, starts->image, 1u << CODE_JUMP, meet_jump, &scan,
				  starts->end_ns);
}

int code_starts_meet(struct code_starts *starts)
{
	int r = cfi_ranges_all(starts->fd, starts->image, meet_piece, starts);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		meet_header_table(starts);
	if (!starts->with_code)
		return 0;
	r = meet_referrers(starts);
	return r == -ENOMEM ? r : 0;
}
