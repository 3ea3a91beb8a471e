// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe blkio: bytes of a disk's requests, by the stack of who caused them:
 *
 *	a page becomes dirty -> the stack, kept for its folio
 *	a bio is queued -> a write of such folios: each goes on to the disk with its stack
 *			-> else the stack of the current process, kept for the bio
 *	a request completes, anywhere -> each of its bios, each of their folios -> counted
 *
 * A disk without requests takes a bio without a word of its end: such are counted in sum alone.
 *
 * These are events with a begin and an end (bpf/stack/probe_halves.h), whose number is the address
 * of the bio, or that of the folio and what it does.
 */
#define GUARD_SKIPPED_NS 100ULL
#include "bpf/stack/probe_halves.h"
#include "bpf/blkio/bio.h"
#include "bpf/shared/blkio_parts.h"

#define FOLIO_DIRTY	 1 /* marks on a folio's address */
#define FOLIO_WRITTEN	 2

#define PART_UNSEEN	 0 /* of what no request will have */

#define BIOS_MAX	 512 /* of a request */
#define RUNS_MAX	 512 /* of a bio: struct page_run */
#define REQUESTS_WAITING 16384
#define NUMBER_TRIES	 16

/* Set before loading: the tracepoints of bios, and that of the issue, have the queue as their first
 * argument (before 5.11). */
const volatile bool has_queue_args = false;
const volatile bool has_issue_queue = false;

/* When the requests that go on were issued; key: the request's address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS_WAITING);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint64_t);
	__type(value, uint64_t);
} issued SEC(".maps");

/* Numbers of disks. The daemon keeps both maps for as long as it runs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLKIO_DISKS_MAX);
	__type(key, struct blkio_disk);
	__type(value, uint32_t);
} disks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLKIO_DISKS_MAX);
	__type(key, uint32_t);
	__type(value, struct blkio_disk);
} disk_names SEC(".maps");

uint32_t disks_count; /* about the last number of a disk */

int number_disk(uint64_t disk);
int own_folio(uint64_t folio, uint32_t bytes, uint32_t part);
int end_half(uint64_t number, uint32_t bytes, uint32_t is_last, uint64_t ns);
int own_run(uint64_t page, uint32_t offset, uint32_t bytes, uint32_t part);
int own_next(uint64_t vec, uint32_t vec_at, uint32_t left, uint32_t part);
int own_pages(uint64_t bio, uint32_t part);
int end_run(uint64_t page, uint32_t offset, uint32_t bytes, uint32_t is_last, uint64_t ns);
int end_next(uint64_t vec, uint64_t at, uint32_t bytes, uint32_t is_last, uint64_t ns);
int end_pages(uint64_t bio, uint32_t bytes, uint32_t is_last, uint64_t ns);
int end_bio_part(uint64_t address, uint32_t left, uint32_t is_whole, uint64_t ns, uint32_t bytes);

static __always_inline void *event_argument(struct bpf_raw_tracepoint_args *ctx, bool has_queue)
{
	void *argument;

	if (!has_queue)
		return (void *)ctx->args[0];
	/* (The compiler would join both loads to one with a computed offset, which Linux 5.10
	 * refuses.) */
	asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(argument) : "r"(ctx));
	return argument;
}

/* ---- disks ---- */

/* Gives a disk a number of its own. Two CPUs may do so at once: one of the numbers stays unused. */
static __always_inline uint32_t give_number(const struct blkio_disk *disk)
{
	const uint32_t *known;

	for (int i = 0; i < NUMBER_TRIES; i++) {
		uint32_t number = ++disks_count;

		if (number >= BLKIO_DISKS_MAX)
			break;
		if (bpf_map_update_elem(&disk_names, &number, disk, BPF_NOEXIST))
			continue;
		if (bpf_map_update_elem(&disks, disk, &number, BPF_NOEXIST) == 0)
			return number;
		break;
	}
	known = bpf_map_lookup_elem(&disks, disk);
	return known ? *known : 0;
}

/* Returns the number of a disk; 0: there is none. A global function, so the verifier checks it
 * once. */
__noinline int number_disk(uint64_t disk)
{
	const struct gendisk *typed = (const struct gendisk *)disk;
	struct blkio_disk named = {};
	const uint32_t *known;

	if (BPF_CORE_READ_STR_INTO(&named.name, typed, disk_name) <= 0)
		return 0;
	known = bpf_map_lookup_elem(&disks, &named);
	return known ? *known : give_number(&named);
}

static __always_inline uint32_t bio_part(const struct bio *bio, const struct gendisk *disk)
{
	uint32_t op = bio_op(bio);
	enum blkio_direction direction = BLKIO_WRITE;

	if (op == OP_DISCARD)
		direction = BLKIO_DISCARD;
	else if (!(op & 1)) /* as the kernel's op_is_write() */
		direction = BLKIO_READ;
	else if (op == OP_WRITE && !bio_bytes(bio))
		direction = BLKIO_FLUSH;
	return BLKIO_PART(direction, number_disk((uint64_t)disk));
}

/* ---- folios ---- */

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

SEC("raw_tp/writeback_dirty_folio")
int dirty_folio(struct bpf_raw_tracepoint_args *ctx)
{
	return begin_dirty(ctx);
}

/* The same before 5.18. */
SEC("raw_tp/writeback_dirty_page")
int dirty_page(struct bpf_raw_tracepoint_args *ctx)
{
	return begin_dirty(ctx);
}

/* ---- bios ---- */

static __always_inline void set_left(uint64_t number, uint32_t bytes)
{
	struct half_key key = {.number = number, .probe = PROBE_BLKIO};
	struct half_event *event = bpf_map_lookup_elem(&halves, &key);

	if (event)
		event->left = bytes;
}

/* Counts the event at a bio's address as lost, which now is that of another bio: no program saw its
 * end. (Else what becomes of the other bio would count for it.) */
static __always_inline void lose_unended(uint64_t bio)
{
	struct half_key key = {.number = bio, .probe = PROBE_BLKIO};
	const struct half_event *earlier = bpf_map_lookup_elem(&halves, &key);
	struct half_event lost;

	if (!earlier)
		return;
	lost = *earlier;
	if (bpf_map_delete_elem(&halves, &key) == 0)
		half_lose(&lost, current_window(), LOST_UNENDED);
}

/* A disk without requests takes a bio. Nobody says when it is done, so what it takes of targets is
 * only counted. (Of a disk that consists of others, these may get the bio's pages: they are left as
 * they are.) */
static __always_inline void leave_bio(const struct bio *bio, const struct gendisk *disk,
				      bool writes)
{
	enum bare_disk bareness = disk_bareness(disk);
	uint32_t found = 0;

	if (writes && bareness == BARE_DISK && disks_tell_below())
		found = own_pages((uint64_t)bio, PART_UNSEEN);
	if (found & OWNED)
		count_unseen(bareness, 1, 0);
	else if (!found && probe_target(PROBE_BLKIO))
		count_unseen(bareness, 1, bio_bytes(bio));
}

SEC("raw_tp/block_bio_queue")
int queue_bio(struct bpf_raw_tracepoint_args *ctx)
{
	const struct bio *bio = event_argument(ctx, has_queue_args);
	const struct gendisk *disk = bio_disk(bio);
	bool writes = bio_writes_pages(bio);
	struct taking taking = {};

	lose_unended((uint64_t)bio);
	if ((!writes && !probe_target(PROBE_BLKIO)) || !disk)
		return 0;
	if (!disk_has_requests(disk)) {
		leave_bio(bio, disk, writes);
		return 0;
	}
	taking.part = bio_part(bio, disk);
	if (writes && own_pages((uint64_t)bio, taking.part))
		return 0;
	if (probe_begin_as(ctx, PROBE_BLKIO, NULL, &taking, (uint64_t)bio))
		set_left((uint64_t)bio, bio_bytes(bio));
	return 0;
}

/* The front of a bio becomes a bio of its own, which leads to the other one. (The memory of both is
 * one list, so folios need nothing.) */
SEC("raw_tp/block_split")
int split_bio(struct bpf_raw_tracepoint_args *ctx)
{
	const struct bio *front = event_argument(ctx, has_queue_args);
	struct half_key key = {.probe = PROBE_BLKIO};
	struct half_event *whole, event;
	uint32_t bytes;

	lose_unended((uint64_t)front);
	key.number = (uint64_t)BPF_CORE_READ(front, bi_private);
	whole = bpf_map_lookup_elem(&halves, &key);
	if (!whole)
		return 0;
	bytes = bio_bytes(front);
	event = *whole;
	if (bytes <= event.left)
		__sync_fetch_and_add(&whole->left, -bytes);
	event.left = bytes;
	event.window = current_window();
	key.number = (uint64_t)front;
	half_keep(&key, &event);
	return 0;
}

/* Forgets a bio that ends without a request. */
SEC("raw_tp/block_bio_complete")
int end_bio(struct bpf_raw_tracepoint_args *ctx)
{
	half_forget(PROBE_BLKIO, ctx->args[1]);
	return 0;
}

/* ---- requests ---- */

SEC("raw_tp/block_rq_issue")
int issue_request(struct bpf_raw_tracepoint_args *ctx)
{
	uint64_t key = (uint64_t)event_argument(ctx, has_issue_queue), now_ns = bpf_ktime_get_ns();

	if (bpf_map_update_elem(&issued, &key, &now_ns, BPF_ANY))
		count_loss(LOST_PENDING_FULL, PROBE_BLKIO, 1);
	return 0;
}

/* Returns the time since a request was issued, ns, and forgets that. */
static __always_inline uint64_t end_issued(uint64_t request)
{
	const uint64_t *began_ns = bpf_map_lookup_elem(&issued, &request);
	uint64_t ns = 0;

	if (!began_ns)
		return 0;
	ns = bpf_ktime_get_ns() - *began_ns;
	bpf_map_delete_elem(&issued, &request);
	return ns;
}

/* Counts what of a bio has come to its end, of the next `left` bytes of a request. Returns the
 * bytes of the bio. `is_whole`: the request ends with these `left` bytes; `ns`: its time, 0 if it
 * isn't known. */
__noinline int end_bio_part(uint64_t address, uint32_t left, uint32_t is_whole, uint64_t ns,
			    uint32_t bytes)
{
	const struct bio *bio = (const struct bio *)address;
	uint32_t done = bio_bytes(bio), is_last;

	if (done > left)
		done = left;
	if (bytes)
		ns = ns * done / bytes;
	is_last = is_whole && done == left;
	if (!end_half(address, done, is_last, ns) && bio_writes_pages(bio))
		end_pages(address, done, is_last, ns);
	return done;
}

/* A request's bytes have come to their end, all of them or the first ones. The bios tell their
 * bytes as of before. */
SEC("raw_tp/block_rq_complete")
int end_request(struct bpf_raw_tracepoint_args *ctx)
{
	const struct request *request = (const void *)ctx->args[0];
	uint32_t bytes = ctx->args[2], left = bytes;
	bool whole = bytes >= BPF_CORE_READ(request, __data_len);
	uint64_t ns = whole ? end_issued(ctx->args[0]) : 0;
	const struct bio *bio = BPF_CORE_READ(request, bio);

	for (int i = 0; i < BIOS_MAX && bio; i++) {
		left -= end_bio_part((uint64_t)bio, left, whole, ns, bytes);
		if (!left)
			break;
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
