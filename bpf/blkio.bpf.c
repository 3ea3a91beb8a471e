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
#include "bpf/blkio/disk_part.h"
#include "bpf/blkio/folio_owner.h"

#define BIOS_MAX	 512 /* of a request */
#define REQUESTS_WAITING 16384

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

/* ---- folios ---- */

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
