/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who made a folio dirty, until its bytes are on the disk: an event with a begin and an end
 * (bpf/stack/probe_halves.h), whose number is the folio's address and what becomes of it: dirty,
 * then written by one bio or several.
 */
#pragma once

#include "bpf/stack/probe_halves.h"
#include "bpf/blkio/bio.h"

#define FOLIO_DIRTY   1 /* marks on a folio's address */
#define FOLIO_WRITTEN 2

#define PART_UNSEEN   0 /* of what no request will have */

#define RUNS_MAX      512 /* of a bio: struct page_run */

int own_folio(uint64_t folio, uint32_t bytes, uint32_t part);
int end_half(uint64_t number, uint32_t bytes, uint32_t is_last, uint64_t ns);
int own_run(uint64_t page, uint32_t offset, uint32_t bytes, uint32_t part);
int own_next(uint64_t vec, uint32_t vec_at, uint32_t left, uint32_t part);
int own_pages(uint64_t bio, uint32_t part);
int end_run(uint64_t page, uint32_t offset, uint32_t bytes, uint32_t is_last, uint64_t ns);
int end_next(uint64_t vec, uint64_t at, uint32_t bytes, uint32_t is_last, uint64_t ns);
int end_pages(uint64_t bio, uint32_t bytes, uint32_t is_last, uint64_t ns);

/* Counts what a disk without requests takes of targets. */
static __always_inline void count_unseen(enum bare_disk bareness, uint32_t bios, uint64_t bytes)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine && bareness < BARE_DISK_COUNT) {
		mine->unseen_bios[bareness] += bios;
		mine->unseen_bytes[bareness] += bytes;
	}
}

/* Begins the way of a folio's bytes to the disk. The folio may have parts in several bios. Of a
 * disk without requests (PART_UNSEEN) the bytes are only counted. Returns whether it is known who
 * made the folio dirty. */
__noinline int own_folio(uint64_t folio, uint32_t bytes, uint32_t part)
{
	struct half_key key = {.number = folio | FOLIO_DIRTY, .probe = PROBE_BLKIO};
	const struct half_event *dirty = bpf_map_lookup_elem(&halves, &key);
	struct half_event *written, event;
	bool unseen = part == PART_UNSEEN;

	if (dirty) {
		event = *dirty;
		half_forget(PROBE_BLKIO, key.number);
		key.number = folio | FOLIO_WRITTEN;
		written = bpf_map_lookup_elem(&halves, &key);
		if (written && (unseen || written->state & HALF_ENDED))
			half_forget(PROBE_BLKIO, key.number);
		if (unseen)
			count_unseen(BARE_DISK, 0, (uint64_t)bytes * event.weight);
		event.key.part = part;
		event.window = current_window();
		event.left = unseen ? 0 : bytes;
		event.state = unseen ? HALF_ENDED : 0;
		if (!unseen || folio_is_large(folio))
			half_keep(&key, &event);
		return 1;
	}
	key.number = folio | FOLIO_WRITTEN;
	written = bpf_map_lookup_elem(&halves, &key);
	if (!written || written->state & HALF_CLOSED)
		return 0;
	if (unseen) {
		count_unseen(BARE_DISK, 0, (uint64_t)bytes * written->weight);
		return 1;
	}
	__sync_fetch_and_add(&written->left, bytes);
	written->state = 0;
	return 1;
}

/* Counts bytes of an event that have come to their end, and the time that these took; `is_last`: a
 * request ended with them. Returns 0 if there is no such event. */
__noinline int end_half(uint64_t number, uint32_t bytes, uint32_t is_last, uint64_t ns)
{
	struct half_key key = {.number = number, .probe = PROBE_BLKIO};
	struct half_event *found = bpf_map_lookup_elem(&halves, &key);
	struct count_key counted;
	struct stack_count more = {.samples = 1};
	uint64_t window = current_window();

	if (!found)
		return 0;
	counted = found->key;
	if (!bytes && !ns) /* a flush is issued as a request of its own */
		ns = bpf_ktime_get_ns() - found->began_ns;
	more.weight = (uint64_t)bytes * found->weight;
	more.events = is_last ? found->weight : 0;
	ns *= found->weight;
	if (bytes < found->left)
		__sync_fetch_and_add(&found->left, -bytes);
	else if (number & FOLIO_WRITTEN && folio_is_large(number & ~7ULL))
		found->left = 0, found->state |= HALF_ENDED;
	else
		half_forget(PROBE_BLKIO, number);
	if (add_count(window, &counted, &more))
		count_sample(PROBE_BLKIO);
	if (!ns)
		return 1;
	counted.part |= PART_SECOND;
	more.weight = ns;
	add_count(window, &counted, &more);
	return 1;
}

#define OWNED	     1 /* bits of own_pages() */
#define WRITTEN_BACK 2

/* Begins the way of a run's folios to the disk. Returns whether it is known of some of them who
 * made them dirty (OWNED), and whether the first one is written back by the page cache
 * (WRITTEN_BACK), not by who uses the device directly. */
__noinline int own_run(uint64_t page, uint32_t offset, uint32_t bytes, uint32_t part)
{
	uint64_t last = page_folio(page);
	uint32_t found = folio_is_written_back(last) ? WRITTEN_BACK : 0, sum = 0;

	for (int i = 0; i < RUN_PAGES && bytes; i++) {
		uint64_t folio = page_folio(page);
		uint32_t more = page_part(offset, bytes);

		if (folio != last) {
			found |= own_folio(last, sum, part);
			last = folio;
			sum = 0;
		}
		sum += more;
		bytes -= more;
		offset = 0;
		page = page_behind(page, 1);
	}
	return found | own_folio(last, sum, part);
}

/* Begins the way of the folios of the next run. Returns a step with own_run()'s bits. */
__noinline int own_next(uint64_t vec, uint32_t vec_at, uint32_t left, uint32_t part)
{
	const struct page_walk walk = {vec, vec_at, left};
	struct page_run run = {};

	if (!page_run_read(&walk, &run))
		return 0;
	return page_step(&run) | own_run(run.page, run.offset, run.bytes, part);
}

/* Begins the way of a bio's folios. Returns the same bits; WRITTEN_BACK if one of the runs is. */
__noinline int own_pages(uint64_t bio, uint32_t part)
{
	struct page_walk walk;
	uint32_t found = 0;

	page_walk_begin(&walk, (const struct bio *)bio, bio_bytes((const struct bio *)bio));
	for (int i = 0; i < RUNS_MAX && walk.left; i++) {
		uint32_t step = own_next(walk.vec, walk.vec_at, walk.left, part);

		if (!step)
			break;
		found |= step & STEP_OWN;
		page_walk_on(&walk, step);
	}
	if (walk.left && found & OWNED)
		count_loss(LOST_UNMEASURED, PROBE_BLKIO, 1);
	return found;
}

/* Counts a run's bytes, which have come to their end, to who made its folios dirty. The time is
 * shared out by the bytes. */
__noinline int end_run(uint64_t page, uint32_t offset, uint32_t bytes, uint32_t is_last,
		       uint64_t ns)
{
	uint64_t last = page_folio(page), each = ns / (bytes ? bytes : 1);
	uint32_t sum = 0;

	for (int i = 0; i < RUN_PAGES && bytes; i++) {
		uint64_t folio = page_folio(page);
		uint32_t more = page_part(offset, bytes);

		if (folio != last) {
			end_half(last | FOLIO_WRITTEN, sum, 0, each * sum);
			last = folio;
			sum = 0;
		}
		sum += more;
		bytes -= more;
		offset = 0;
		page = page_behind(page, 1);
	}
	return end_half(last | FOLIO_WRITTEN, sum, is_last, each * sum);
}

/* Counts the bytes of the next run of a bio of `bytes` bytes. `at`: bytes of its struct bio_vec
 * that were walked, and below these 32 bits the bio's that are still to be. Returns a step. */
__noinline int end_next(uint64_t vec, uint64_t at, uint32_t bytes, uint32_t is_last, uint64_t ns)
{
	const struct page_walk walk = {vec, at >> 32, at};
	struct page_run run = {};

	if (!page_run_read(&walk, &run))
		return 0;
	end_run(run.page, run.offset, run.bytes, is_last && run.bytes == walk.left,
		ns * run.bytes / (bytes ? bytes : 1));
	return page_step(&run);
}

/* Counts bytes of a bio that have come to their end. */
__noinline int end_pages(uint64_t bio, uint32_t bytes, uint32_t is_last, uint64_t ns)
{
	struct page_walk walk;

	page_walk_begin(&walk, (const struct bio *)bio, bytes);
	for (int i = 0; i < RUNS_MAX && walk.left; i++) {
		uint32_t step = end_next(walk.vec, (uint64_t)walk.vec_at << 32 | walk.left, bytes,
					 is_last, ns);

		if (!step)
			break;
		page_walk_on(&walk, step);
	}
	return 0;
}

static __always_inline int begin_dirty(struct bpf_raw_tracepoint_args *ctx)
{
	struct half_key written = {.number = ctx->args[0] | FOLIO_WRITTEN, .probe = PROBE_BLKIO};
	struct half_event *earlier;

	half_forget(PROBE_BLKIO, ctx->args[0] | FOLIO_DIRTY);
	earlier = bpf_map_lookup_elem(&halves, &written);
	if (earlier) /* what is written from now on is of another one */
		earlier->state |= HALF_CLOSED;
	probe_begin(ctx, PROBE_BLKIO, NULL, ctx->args[0] | FOLIO_DIRTY);
	return 0;
}
