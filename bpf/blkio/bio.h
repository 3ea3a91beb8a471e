/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the probe blkio reads of block devices' requests: a request has a list of bios (parts that
 * were merged), and a bio has a list of pieces of memory, of which a bio of the page cache's
 * write-back tells the folios.
 */
#pragma once

#include "bpf/core/kernel_types.h"
#include "bpf/shared/sample.h"

/* include/linux/blk_types.h: enum req_op */
#define OP_MASK	       0xff
#define OP_READ	       0
#define OP_WRITE       1
#define OP_DISCARD     3
#define OP_ZONE_APPEND 7

#define TAIL_PAGE      1UL /* bit of page.compound_head: the rest is the address of the folio */

/* Size of a page. Set before loading. */
const volatile uint32_t page_bytes = 4096;

enum pageflags { PG_writeback, PG_head };

/* Its first word is `flags`, whose type differs between kernels (include/linux/mm_types.h). */
struct page {
	unsigned long compound_head;
} RELOCATED;

struct request_queue {
	const void *mq_ops;
} RELOCATED;

struct list_head {
	struct list_head *next;
} RELOCATED;

struct gendisk {
	char disk_name[32];
	struct request_queue *queue;
	struct list_head slave_bdevs; /* disks that it consists of; since 5.15 */
} RELOCATED;

struct block_device {
	struct gendisk *bd_disk;
	struct list_head bd_holder_disks; /* disks that consist of it; before 5.15 */
} RELOCATED;

struct bvec_iter {
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
} RELOCATED;

/* include/linux/bvec.h: the same in all kernels */
struct bio_vec {
	uint64_t page;
	uint32_t bytes;
	uint32_t offset; /* in the page; may be of a later page */
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev; /* since 5.12 */
	struct gendisk *bi_disk;      /* before */
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
	void *bi_private;
} RELOCATED;

struct request {
	struct bio *bio;
	unsigned int __data_len;
} RELOCATED;

static __always_inline uint32_t bio_bytes(const struct bio *bio)
{
	return BPF_CORE_READ(bio, bi_iter.bi_size);
}

static __always_inline uint32_t bio_op(const struct bio *bio)
{
	return BPF_CORE_READ(bio, bi_opf) & OP_MASK;
}

static __always_inline const struct gendisk *bio_disk(const struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_bdev))
		return BPF_CORE_READ(bio, bi_bdev, bd_disk);
	return BPF_CORE_READ(bio, bi_disk);
}

/* Returns whether a device has requests; others take bios as they are (zram, pmem), or hand them on
 * to devices below (md, most of dm). */
static __always_inline bool disk_has_requests(const struct gendisk *disk)
{
	return BPF_CORE_READ(disk, queue, mq_ops);
}

/* Returns whether the kernel lists what disks consist of, or has none that consist of others. */
static __always_inline bool disks_tell_below(void)
{
	const struct gendisk *disk = NULL;
	const struct block_device *part = NULL;

	return bpf_core_field_exists(disk->slave_bdevs) ||
	       !bpf_core_field_exists(part->bd_holder_disks);
}

/* Returns what a disk without requests is like. */
static __always_inline enum bare_disk disk_bareness(const struct gendisk *disk)
{
	uint64_t list, next;

	if (!bpf_core_field_exists(disk->slave_bdevs))
		return BARE_DISK;
	list = (uint64_t)disk + bpf_core_field_offset(disk->slave_bdevs);
	next = (uint64_t)BPF_CORE_READ(disk, slave_bdevs.next);
	return next && next != list ? STACKED_DISK : BARE_DISK;
}

/* Returns whether the bio writes what is in memory. */
static __always_inline bool bio_writes_pages(const struct bio *bio)
{
	uint32_t op = bio_op(bio);

	return (op == OP_WRITE || op == OP_ZONE_APPEND) && bio_bytes(bio);
}

/* Returns the address of the folio that a page is of. (Without that field only folios of one page,
 * and the first pages of others, are found.) */
static __always_inline uint64_t page_folio(uint64_t page)
{
	const struct page *typed = (const struct page *)page;
	uint64_t head = 0;

	if (bpf_core_field_exists(typed->compound_head))
		head = BPF_CORE_READ(typed, compound_head);
	return head & TAIL_PAGE ? head - TAIL_PAGE : page;
}

static __always_inline uint64_t folio_flags(uint64_t folio)
{
	uint64_t flags = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), (const void *)folio);
	return flags;
}

static __always_inline bool folio_is_large(uint64_t folio)
{
	return folio_flags(folio) >> bpf_core_enum_value(enum pageflags, PG_head) & 1;
}

static __always_inline bool folio_is_written_back(uint64_t folio)
{
	return folio_flags(folio) >> bpf_core_enum_value(enum pageflags, PG_writeback) & 1;
}

#define RUN_PAGES 128

/* Pages that follow each other in memory, of a bio. */
struct page_run {
	uint64_t page;	 /* address of the first struct page */
	uint32_t offset; /* in the first page */
	uint32_t bytes;	 /* up to RUN_PAGES pages */
	uint32_t ends;	 /* 1: its struct bio_vec ends with it */
};

/* A walk through the memory of a bio, run by run. */
struct page_walk {
	uint64_t vec;	 /* address of the current struct bio_vec */
	uint32_t vec_at; /* bytes of it that were walked */
	uint32_t left;	 /* bytes that are still to be walked */
};

/*
 * A step of such a walk, as a function returns it that the verifier follows once, instead of once a
 * turn of the loop: the bytes of the run, whether the struct bio_vec ends with it, and two bits of
 * the function's own. 0: there is no run.
 */
#define STEP_OWN   3
#define STEP_ENDS  4
#define STEP_SHIFT 3

static __always_inline uint32_t page_step(const struct page_run *run)
{
	return run->bytes << STEP_SHIFT | run->ends * STEP_ENDS;
}

/* (Computed without jumps: the verifier would follow both ways of each.) */
static __always_inline void page_walk_on(struct page_walk *walk, uint32_t step)
{
	uint32_t done = step >> STEP_SHIFT, ends = step / STEP_ENDS & 1;

	walk->left -= done;
	walk->vec += ends * sizeof(struct bio_vec);
	walk->vec_at = (walk->vec_at + done) & (ends - 1);
}

static __always_inline void page_walk_begin(struct page_walk *walk, const struct bio *bio,
					    uint32_t bytes)
{
	walk->vec = (uint64_t)BPF_CORE_READ(bio, bi_io_vec) +
		    BPF_CORE_READ(bio, bi_iter.bi_idx) * sizeof(struct bio_vec);
	walk->vec_at = BPF_CORE_READ(bio, bi_iter.bi_bvec_done);
	walk->left = bytes;
}

static __always_inline uint64_t page_behind(uint64_t page, uint64_t count)
{
	return page + count * bpf_core_type_size(struct page);
}

/* Reads the run that begins there. Returns false if the memory's list can't be read. */
static __always_inline bool page_run_read(const struct page_walk *walk, struct page_run *run)
{
	struct bio_vec vec = {};
	uint64_t at;

	if (bpf_probe_read_kernel(&vec, sizeof(vec), (const void *)walk->vec) ||
	    vec.bytes <= walk->vec_at)
		return false;
	at = (uint64_t)vec.offset + walk->vec_at;
	run->page = page_behind(vec.page, at / page_bytes);
	run->offset = at % page_bytes;
	run->bytes = RUN_PAGES * page_bytes - run->offset;
	if (run->bytes > vec.bytes - walk->vec_at)
		run->bytes = vec.bytes - walk->vec_at;
	if (run->bytes > walk->left)
		run->bytes = walk->left;
	run->ends = walk->vec_at + run->bytes >= vec.bytes;
	return true;
}

/* Returns how many bytes of so many are in the page that they begin in. */
static __always_inline uint32_t page_part(uint32_t offset, uint32_t bytes)
{
	uint32_t room = page_bytes - offset;

	return bytes < room ? bytes : room;
}
