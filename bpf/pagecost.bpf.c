// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page cache, by process, of the whole host: pages that were there when a read asked for them,
 * pages that were added, and pages that were made dirty.
 *
 *	a folio is added -> its pages; and which of the file they are, for the read under way
 *	a read has a batch -> the batch before is over: which of its pages had been added for it?
 *	a thread ends -> so is its last batch
 *	a clean folio gets dirty -> its pages
 *	reclaim takes a folio out -> its pages, by memory cgroup
 *
 * filemap_get_pages() says which pages a read wants still, not how many it got. So the pages of a
 * batch are known when the next one begins: where the next one begins, or where the read ends.
 */
#include "bpf/core/task.h"
#include "bpf/shared/process_cost.h"

#define COST_COUNTER struct cache_counts
#include "bpf/cache/folio.h"
#include "bpf/process/cost_counter.h"

/* Set before loading. */
const volatile uint32_t page_bytes = 4096;
const volatile bool has_reads = false; /* the kernel tells which pages a read wants (since 6.12) */

#define PF_MEMALLOC 0x00000800 /* include/linux/sched.h: it is reclaiming memory */

/* Pages that reclaim has taken out of the page cache, by the memory cgroup that they were charged
 * to: the id of its node; 0: none. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH); /* cgroups that are gone leave it */
	__uint(max_entries, EVICTING_MAX);
	__type(key, uint64_t);
	__type(value, uint64_t);
} cache_evictions SEC(".maps");

/* A thread's read. */
struct page_read {
	uint64_t mapping;
	uint64_t from, to;	       /* pages of the batch under way, and of the read behind it */
	uint64_t calls;		       /* reads that the thread had ended before */
	uint64_t added_from, added_to; /* pages that were added for it */
	uint64_t fresh_from, fresh_to; /* pages that were added since the last batch */
	uint64_t fresh_mapping;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct page_read);
} page_reads SEC(".maps");

static __always_inline void count_pages(enum cache_count what, uint64_t pages)
{
	struct cache_counts *counts = pages ? counters_of_current() : NULL;

	if (counts)
		__sync_fetch_and_add(&counts->of[what], pages);
}

/* Returns how many of the pages [from, to) had been added for the read. */
static __always_inline uint64_t missed_pages(const struct page_read *read, uint64_t from,
					     uint64_t to)
{
	uint64_t begin = read->added_from > from ? read->added_from : from;
	uint64_t end = read->added_to < to ? read->added_to : to;

	return end > begin ? end - begin : 0;
}

/* Counts a batch that ended before page `to`. */
static __always_inline void end_batch(const struct page_read *read, uint64_t to)
{
	if (to > read->to)
		to = read->to;
	if (to > read->from)
		count_pages(CACHE_HIT, to - read->from - missed_pages(read, read->from, to));
}

/* Takes over what was added since the last batch. */
static __always_inline void take_fresh(struct page_read *read)
{
	if (read->fresh_mapping == read->mapping && read->fresh_to > read->fresh_from) {
		if (read->fresh_from != read->added_to)
			read->added_from = read->fresh_from;
		read->added_to = read->fresh_to;
	}
	read->fresh_from = read->fresh_to = 0;
}

static __always_inline void note_added(const void *folio, uint64_t pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct page_read *read =
		bpf_task_storage_get(&page_reads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	uint64_t from = folio_index(folio), mapping = (uint64_t)folio_mapping(folio);

	if (!read)
		return;
	if (read->fresh_mapping != mapping || read->fresh_to != from)
		read->fresh_from = from;
	read->fresh_mapping = mapping;
	read->fresh_to = from + pages;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int on_page_added(uint64_t *ctx)
{
	const void *folio = (const void *)ctx[0];
	uint64_t pages = folio_pages(folio);

	count_pages(CACHE_ADDED, pages);
	if (has_reads)
		note_added(folio, pages);
	return 0;
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int on_page_removed(uint64_t *ctx)
{
	const void *folio = (const void *)ctx[0];
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	const uint64_t none = 0;
	uint64_t group, *count;

	if (!(BPF_CORE_READ(task, flags) & PF_MEMALLOC))
		return 0; /* the file was cut or removed, or somebody asked for it */
	group = folio_cgroup(folio);
	count = bpf_map_lookup_elem(&cache_evictions, &group);
	if (!count) {
		bpf_map_update_elem(&cache_evictions, &group, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&cache_evictions, &group);
	}
	if (count)
		__sync_fetch_and_add(count, folio_pages(folio));
	else
		__sync_fetch_and_add(&lost_events, folio_pages(folio));
	return 0;
}

/* Returns the page behind a file's last one. */
static __always_inline uint64_t file_end(const struct address_space *mapping)
{
	uint64_t bytes = BPF_CORE_READ(mapping, host, i_size);

	return (bytes + page_bytes - 1) / page_bytes;
}

SEC("raw_tp/mm_filemap_get_pages")
int on_pages_got(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct page_read *read =
		bpf_task_storage_get(&page_reads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	uint64_t mapping = ctx->args[0], from = ctx->args[1], to = ctx->args[2] + 1, end;
	uint64_t calls = BPF_CORE_READ(task, ioac.syscr);

	if (!read)
		return 0;
	end = file_end((const void *)mapping);
	to = to < end ? to : end;
	if (read->mapping == mapping && read->to == to && read->calls == calls &&
	    from > read->from) {
		end_batch(read, from);
	} else {
		end_batch(read, read->to);
		read->mapping = mapping;
		read->to = to;
		read->calls = calls;
		read->added_from = read->added_to = 0;
	}
	read->from = from;
	take_fresh(read);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_reader_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct page_read *read =
		bpf_task_storage_get(&page_reads, bpf_get_current_task_btf(), 0, 0);

	if (read)
		end_batch(read, read->to);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int on_folio_dirty(uint64_t *ctx)
{
	count_pages(CACHE_DIRTIED, folio_pages((const void *)ctx[0]));
	return 0;
}

/* The name before Linux 5.18. */
SEC("tp_btf/writeback_dirty_page")
int on_page_dirty(uint64_t *ctx)
{
	count_pages(CACHE_DIRTIED, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
