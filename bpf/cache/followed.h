/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages that were read ahead, until they are used or leave the page cache:
 *
 *	follow_pages()   a block of 32 pages of a file has a mask of the pages that are not used
 *			 yet, for each stack that read some of them ahead (up to four)
 *	settle_pages()   takes pages out of the masks. Those that are unused and go are counted for
 *			 the stack that read them ahead, in the window in which they go.
 *
 * That stack may have been sent in an older window. So its frames are kept here, and are sent once
 * more, with the time that they had: the daemon looks addresses up as of then.
 *
 * A page is known by its file's struct address_space and its index. That a mask is empty and its
 * block goes is decided by one exchange of the mask, so no page is lost between two CPUs.
 */
#pragma once

#include "bpf/shared/readahead_parts.h"
#include "bpf/stack/probe_take.h"

#define FOLLOWED_SHIFT 5
#define FOLLOWED_PAGES (1U << FOLLOWED_SHIFT)
#define FOLLOWED_WAYS  4	    /* stacks of a block */
#define FOLLOWED_GONE  (1ULL << 63) /* in a mask: the block is being deleted */
#define FOLLOWED_SLOTS 4096	    /* a power of two */
#define REGION_PAGES   1024	    /* a power of two */
#define FOLLOWED_WORDS 512	    /* of a stack's frames that are kept at most */

int settle_block(uint64_t mapping, uint64_t from, uint64_t to, uint64_t unused);
int settle_pages(uint64_t mapping, uint64_t from, uint64_t to, uint64_t unused);

struct followed_key {
	uint64_t mapping; /* the address of a struct address_space */
	uint64_t block;	  /* index / FOLLOWED_PAGES * FOLLOWED_WAYS + way */
};

/* Whose stack read the pages ahead. */
struct reader {
	struct stack_key stack;
	uint32_t tid;
	uint32_t weight; /* the guard's: events that an event stands for */
};

/* What such a stack reads: pages that are needed at once, [asked_from, asked_to), aren't followed.
 */
struct reading {
	struct reader reader;
	uint64_t asked_from, asked_to;
};

int follow_block(uint64_t mapping, uint64_t from, uint64_t to, const struct reading *reading);
int follow_pages(uint64_t mapping, uint64_t from, uint64_t to, const struct reading *reading);

struct followed {
	struct reader reader;
	uint64_t mask;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOWED_BLOCKS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct followed_key);
	__type(value, struct followed);
} followed SEC(".maps");

struct kept_stack {
	struct stack head;
	uint64_t words[FOLLOWED_WORDS];
};

/* An LRU map: where more stacks read ahead, the pages of those that go are counted as lost when
 * they turn out to be unused. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FOLLOWED_STACKS);
	__type(key, struct stack_key);
	__type(value, struct kept_stack);
} kept_stacks SEC(".maps");

/* Followed pages, by a hash of their mapping and of their region in it: 0 for most of what is read
 * on the host. */
uint64_t followed_pages[FOLLOWED_SLOTS];

static __always_inline uint64_t *followed_slot(uint64_t mapping, uint64_t page)
{
	return &followed_pages[hash_word(mapping, page / REGION_PAGES) & (FOLLOWED_SLOTS - 1)];
}

/* Returns the bits of pages [from, to) in the block that `from` is in. */
static __always_inline uint64_t block_mask(uint64_t from, uint64_t to)
{
	uint64_t first = from & (FOLLOWED_PAGES - 1), end = to - (from - first);

	if (to <= from)
		return 0;
	if (end > FOLLOWED_PAGES)
		end = FOLLOWED_PAGES;
	return ((1ULL << (end & 63)) - 1) & ~((1ULL << first) - 1);
}

/* Keeps the frames of a stack that was sent just now: all its words lie side by side. */
static __always_inline void keep_stack(const struct walk *walk)
{
	if (walk->head.words_count <= FOLLOWED_WORDS)
		bpf_map_update_elem(&kept_stacks, &walk->head.key, &walk->head, BPF_ANY);
}

static __always_inline bool is_sent_in(const struct stack_key *key, uint64_t window)
{
	return window & 1 ? bpf_map_lookup_elem(&sent_odd, key) != NULL
			  : bpf_map_lookup_elem(&sent_even, key) != NULL;
}

/* Sends a kept stack in this window. Returns 0, or how it is lost. */
static __always_inline enum loss send_kept(const struct stack_key *key, uint64_t window)
{
	struct kept_stack *kept = bpf_map_lookup_elem(&kept_stacks, key);
	uint64_t bytes, flag = BPF_RB_NO_WAKEUP;
	uint32_t one = 1;

	if (!kept)
		return LOST_STACK_MISSING;
	kept->head.window = window;
	bytes = sizeof(kept->head) + kept->head.words_count * sizeof(uint64_t);
	if (bytes > sizeof(*kept))
		return LOST_STACK_MISSING;
	if (bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) >
	    bpf_ringbuf_query(&stacks, BPF_RB_RING_SIZE) / 4)
		flag = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&stacks, kept, bytes, flag))
		return LOST_RING_FULL;
	if (window & 1 ? bpf_map_update_elem(&sent_odd, key, &one, BPF_ANY)
		       : bpf_map_update_elem(&sent_even, key, &one, BPF_ANY))
		return LOST_SENT_FULL;
	return LOST_COUNT;
}

/* Counts pages that go unused. */
static __always_inline void count_unused(const struct reader *reader, uint64_t pages)
{
	uint32_t zero = 0;
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct count_key key = {.stack = reader->stack,
				.tid = reader->tid,
				.cpu = CPU_ANY,
				.part = READAHEAD_AHEAD | PART_SECOND};
	struct stack_count more = {
		.weight = pages * reader->weight, .samples = 1, .events = reader->weight};
	enum loss loss = LOST_COUNT;

	if (!settings)
		return;
	if (!is_sent_in(&key.stack, settings->window))
		loss = send_kept(&key.stack, settings->window);
	if (loss != LOST_COUNT)
		count_loss(loss, PROBE_READAHEAD, more.weight);
	else if (add_count(settings->window, &key, &more))
		count_sample(PROBE_READAHEAD);
}

/* Takes pages [from, to) out of the masks of the block that `from` is in; `unused`: they go, else
 * they are used. A global function, so the verifier checks it once. */
__noinline int settle_block(uint64_t mapping, uint64_t from, uint64_t to, uint64_t unused)
{
	struct followed_key key = {.mapping = mapping,
				   .block = from / FOLLOWED_PAGES * FOLLOWED_WAYS};
	uint64_t mask = block_mask(from, to), taken, all = 0;

	for (uint32_t way = 0; way < FOLLOWED_WAYS; way++, key.block++) {
		struct followed *found = bpf_map_lookup_elem(&followed, &key);
		struct reader reader;

		if (!found || !(found->mask & mask))
			continue;
		reader = found->reader;
		taken = __sync_fetch_and_and(&found->mask, ~mask) & mask;
		if (!__sync_val_compare_and_swap(&found->mask, 0, FOLLOWED_GONE))
			bpf_map_delete_elem(&followed, &key);
		if (!taken)
			continue;
		taken = __builtin_popcountll(taken);
		all += taken;
		if (unused)
			count_unused(&reader, taken);
	}
	if (all)
		__sync_fetch_and_add(followed_slot(mapping, from), -all);
	return 0;
}

/* Blocks of a range that are looked at: 31 folios of 512 pages, more than one batch of a read has
 * (PAGEVEC_SIZE). A longer range is that of a read which comes back for the rest. */
#define SETTLED_BLOCKS (16384 / FOLLOWED_PAGES)

/* Settles pages [from, to) of a file: most files have none that are followed. */
__noinline int settle_pages(uint64_t mapping, uint64_t from, uint64_t to, uint64_t unused)
{
	for (uint32_t i = 0; i < SETTLED_BLOCKS && from < to; i++) {
		uint64_t step = REGION_PAGES;

		if (*(volatile uint64_t *)followed_slot(mapping, from)) {
			step = FOLLOWED_PAGES;
			settle_block(mapping, from, to, unused);
		}
		/* the verifier would follow each sum of steps */
		from = forget_value((from | (step - 1)) + 1, mapping);
	}
	return 0;
}

static __always_inline bool is_same_reader(const struct reader *one, const struct reader *other)
{
	return one->stack.hash == other->stack.hash && one->stack.tgid == other->stack.tgid &&
	       one->tid == other->tid && one->weight == other->weight;
}

/* Puts pages of a block into the map. Returns false if there is no room. */
static __always_inline bool put_followed(struct followed_key *key, const struct followed *begun)
{
	for (uint32_t way = 0; way < FOLLOWED_WAYS; way++, key->block++) {
		struct followed *found = bpf_map_lookup_elem(&followed, key);

		if (!found) {
			if (bpf_map_update_elem(&followed, key, begun, BPF_NOEXIST) == 0)
				return true;
			found = bpf_map_lookup_elem(&followed, key);
		}
		if (found && is_same_reader(&found->reader, &begun->reader) &&
		    !(__sync_fetch_and_or(&found->mask, begun->mask) & FOLLOWED_GONE))
			return true;
	}
	return false;
}

/* Follows pages [from, to) of the block that `from` is in. */
__noinline int follow_block(uint64_t mapping, uint64_t from, uint64_t to,
			    const struct reading *reading)
{
	struct followed_key key = {.mapping = mapping,
				   .block = from / FOLLOWED_PAGES * FOLLOWED_WAYS};
	struct followed begun = {};
	uint64_t asked_from, pages;

	if (!reading)
		return 0;
	begun.reader = reading->reader;
	asked_from = reading->asked_from > from ? reading->asked_from : from;
	begun.mask = block_mask(from, to);
	if (asked_from < ((from | (FOLLOWED_PAGES - 1)) + 1))
		begun.mask &= ~block_mask(asked_from, reading->asked_to);
	if (!begun.mask)
		return 0;
	pages = __builtin_popcountll(begun.mask);
	__sync_fetch_and_add(followed_slot(mapping, from), pages);
	if (put_followed(&key, &begun))
		return 0;
	__sync_fetch_and_add(followed_slot(mapping, from), -pages);
	count_loss(LOST_PENDING_FULL, PROBE_READAHEAD, pages * begun.reader.weight);
	return 0;
}

/* Blocks of a folio: up to 2048 pages, more than any folio of the page cache has. */
#define FOLIO_BLOCKS (2048 / FOLLOWED_PAGES)

/* Follows pages [from, to) of a file. */
__noinline int follow_pages(uint64_t mapping, uint64_t from, uint64_t to,
			    const struct reading *reading)
{
	for (uint32_t i = 0; i < FOLIO_BLOCKS && from < to; i++) {
		follow_block(mapping, from, to, reading);
		from = forget_value((from | (FOLLOWED_PAGES - 1)) + 1, mapping);
	}
	return 0;
}
