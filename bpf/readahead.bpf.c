// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe readahead: the pages of files that targets had read into the page cache, those that
 * were needed and those ahead, and those ahead that were never used.
 *
 *	a folio comes to the page cache -> by a target? -> drawn by its size? -> below the
 *	  kernel's readahead? -> which of its pages are needed -> the stack, counted; pages ahead
 *	  are followed (bpf/cache/followed.h)
 *	any process reads, maps or writes pages -> they are used
 *	a folio leaves the page cache -> its followed pages are unused
 *
 * Which pages are needed: what a read asked its readahead for, or the page of a fault. A thread's
 * read or fault is noted when it begins to read ahead, and forgotten when it has its pages.
 *
 * Hooks whose arguments are used as numbers are raw tracepoints: in typed ones they are pointers.
 */
#define GUARD_SKIPPED_NS 60ULL
#include "bpf/cache/folio.h"
#include "bpf/cache/followed.h"
#include "bpf/core/task.h"

#define S_IFMT	      0170000 /* include/uapi/linux/stat.h */
#define S_IFBLK	      0060000

#define PAGES_OF_SIZE 16 /* the guard prefers large folios, for few stand for much */
#define LEAF_FRAMES   16 /* of the kernel's stack, in which readahead's are looked for */

/* Set before loading: the functions that add pages; whether the kernel tells which pages a read
 * needs. */
const volatile struct code_range readahead_functions[READAHEAD_FUNCTIONS];
const volatile bool has_asked = false;

/* Set before loading: the kernel tells which pages are used, so those ahead are followed. */
const volatile bool has_uses = false;

/* What a thread needs, while it reads ahead. */
struct asking {
	uint64_t mapping;
	uint64_t from, to; /* pages */
	uint64_t faults;   /* of a fault: faults that the thread had before */
	uint64_t is_fault;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct asking);
} askings SEC(".maps");

static __always_inline uint64_t task_faults(const struct task_struct *task)
{
	return task->min_flt + task->maj_flt;
}

/* Returns whether what is noted is of a fault that goes on. */
static __always_inline bool is_in_fault(const struct asking *asking, const struct task_struct *task)
{
	return asking->is_fault && asking->faults == task_faults(task);
}

/* Returns 1 if an address lies in the function, else 0. (Computed without jumps: the verifier would
 * follow both ways of each.) */
static __always_inline uint64_t is_in_function(uint64_t address,
					       const volatile struct code_range *function)
{
	uint64_t behind = address - function->from;

	return ((behind - function->bytes) & ~behind) >> 63;
}

/* Returns whether a function that reads ahead has added the page. (A file system looks for pages of
 * its own meanwhile: these are added by another one.) */
static __always_inline bool is_below_readahead(void *ctx)
{
	uint64_t frames[LEAF_FRAMES] = {};
	uint64_t found = 0, reads_ahead = 0;

	if (bpf_get_stack(ctx, frames, sizeof(frames), 0) < 0)
		return false;
	for (uint32_t i = 0; i < LEAF_FRAMES; i++) {
		for (uint32_t j = 0; j < READAHEAD_FUNCTIONS; j++) {
			uint64_t here = is_in_function(frames[i], &readahead_functions[j]);

			reads_ahead |= here & ~found & readahead_functions[j].reads_ahead;
			found |= here;
			asm volatile("" : "+r"(found), "+r"(reads_ahead));
		}
	}
	return reads_ahead;
}

/* Takes the stack of the current task as probe_walk() does, and keeps its frames. */
static __always_inline bool walk_and_keep(void *ctx, const struct target_value *target,
					  struct taking *taking, struct stack_key *key)
{
	struct target_value wanted = *target;
	uint32_t zero = 0;
	struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct walk *walk = settings ? walk_for(PROBE_READAHEAD, taking->events) : NULL;
	bool taken;

	if (!walk)
		return false;
	walk->frames_max = USER_FRAMES_MAX;
	walk_begin_current(walk, settings, &wanted, PROBE_READAHEAD);
	walk->head.time_ns = 0;
	taking->cpu = counted_cpu(settings, PROBE_READAHEAD);
	taken = take_into(ctx, walk, NULL, taking);
	*key = walk->head.key;
	taking->window = walk->head.window;
	if (has_uses && taken && walk->head.time_ns) /* sent now */
		keep_stack(walk);
	walk_give_back(walk);
	return taken;
}

/* A folio that comes to the page cache. */
struct added {
	uint64_t mapping;
	uint64_t from, to; /* its pages */
	bool is_followed;
	struct reading reading; /* whose stack, and which pages are needed; an empty range: none */
};

static __always_inline void look_at_added(const void *folio, uint64_t pages, struct added *added)
{
	struct address_space *mapping = folio_mapping(folio);

	added->mapping = (uint64_t)mapping;
	added->from = folio_index(folio);
	added->to = added->from + pages;
	added->reading.asked_from = added->reading.asked_to = added->from;
	/* A file system's own data are found there by no event. */
	added->is_followed = (BPF_CORE_READ(mapping, host, i_mode) & S_IFMT) != S_IFBLK;
}

/* Sets which pages of a folio the thread needs. */
static __always_inline void find_asked(struct added *added)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct asking *asking = bpf_task_storage_get(&askings, task, 0, 0);
	struct reading *reading;

	if (!asking || asking->mapping != added->mapping ||
	    (asking->is_fault && !is_in_fault(asking, task)))
		return;
	reading = &added->reading;
	if (asking->from > added->from)
		reading->asked_from = asking->from < added->to ? asking->from : added->to;
	reading->asked_to = asking->to < added->to ? asking->to : added->to;
	if (reading->asked_to < reading->asked_from)
		reading->asked_to = reading->asked_from;
}

/* Counts a folio: what is needed, and what is ahead. Returns whether it was counted. */
static __always_inline bool count_added(void *ctx, const struct target_value *target,
					struct added *added, struct taking *taking)
{
	struct stack_key *key = &added->reading.reader.stack;
	uint64_t asked = added->reading.asked_to - added->reading.asked_from;
	uint64_t ahead = added->to - added->from - asked;

	taking->part = !has_asked ? READAHEAD_ANY : asked ? READAHEAD_ASKED : READAHEAD_AHEAD;
	taking->weight = (asked ? asked : ahead) * taking->events;
	if (!walk_and_keep(ctx, target, taking, key))
		return false;
	if (asked && ahead)
		probe_count_again(taking, key, READAHEAD_AHEAD, ahead * taking->events);
	return true;
}

static __always_inline uint64_t draw_folio(uint64_t pages)
{
	uint64_t size = pages / PAGES_OF_SIZE;
	bool second;

	return guard_draws(PROBE_READAHEAD, size < GUARD_SIZE_MAX ? size : GUARD_SIZE_MAX, &second);
}

/* Counts a folio that comes to the page cache. Returns whether its pages can be followed. */
static __always_inline bool take_added(void *ctx, const void *folio, struct added *added)
{
	const struct target_value *target = probe_target(PROBE_READAHEAD);
	struct reader *reader = &added->reading.reader;
	struct taking taking = {};
	uint64_t pages, began_ns;
	bool taken = false;

	if (!target)
		return false;
	pages = folio_pages(folio);
	taking.events = draw_folio(pages);
	if (!taking.events)
		return false;
	began_ns = bpf_ktime_get_ns();
	if (is_below_readahead(ctx)) {
		look_at_added(folio, pages, added);
		if (has_asked)
			find_asked(added);
		taken = count_added(ctx, target, added, &taking);
		reader->tid = bpf_get_current_pid_tgid();
		reader->weight = taking.events;
	}
	guard_account(PROBE_READAHEAD, taking.events, began_ns);
	return taken && added->is_followed;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int add_folio(uint64_t *ctx)
{
	struct added added = {};

	if (take_added(ctx, (const void *)ctx[0], &added))
		follow_pages(added.mapping, added.from, added.to, &added.reading);
	return 0;
}

/* The same on kernels that don't tell which pages are used (before 6.12): none is followed. */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int add_only(uint64_t *ctx)
{
	struct added added = {};

	take_added(ctx, (const void *)ctx[0], &added);
	return 0;
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int delete_folio(uint64_t *ctx)
{
	const void *folio = (const void *)ctx[0];
	uint64_t from = folio_index(folio);

	settle_pages((uint64_t)folio_mapping(folio), from, from + folio_pages(folio), true);
	return 0;
}

/* A read has its pages, which it asked for. */
SEC("raw_tp/mm_filemap_get_pages")
int get_pages(struct bpf_raw_tracepoint_args *ctx)
{
	if (has_asked && probe_target(PROBE_READAHEAD)) {
		struct asking *asking =
			bpf_task_storage_get(&askings, bpf_get_current_task_btf(), 0, 0);

		if (asking && !asking->is_fault)
			asking->to = asking->from;
	}
	settle_pages(ctx->args[0], ctx->args[1], ctx->args[2] + 1, false);
	return 0;
}

SEC("raw_tp/mm_filemap_map_pages")
int map_pages(struct bpf_raw_tracepoint_args *ctx)
{
	settle_pages(ctx->args[0], ctx->args[1], ctx->args[2] + 1, false);
	return 0;
}

/* Notes what the current thread needs. */
static __always_inline void note_asking(struct task_struct *task, const struct asking *asking)
{
	struct asking *noted =
		bpf_task_storage_get(&askings, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (noted)
		*noted = *asking;
	else
		count_loss(LOST_PENDING_FULL, PROBE_READAHEAD, 1);
}

/* A fault looks for its page, and then reads ahead if the page isn't there. */
SEC("raw_tp/mm_filemap_fault")
int begin_fault(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct asking asking = {.mapping = ctx->args[0],
				.from = ctx->args[1],
				.to = ctx->args[1] + 1,
				.faults = task_faults(task),
				.is_fault = 1};

	settle_pages(ctx->args[0], ctx->args[1], ctx->args[1] + 1, false);
	if (has_asked && probe_target(PROBE_READAHEAD))
		note_asking(task, &asking);
	return 0;
}

/* Notes the pages of a read that reads ahead, unless a fault does. */
static __always_inline int begin_read(struct inode___cached *inode, uint64_t from, uint64_t count)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct asking asking = {.from = from, .to = from + count};
	const struct asking *noted;

	if (!probe_target(PROBE_READAHEAD))
		return 0;
	noted = bpf_task_storage_get(&askings, task, 0, 0);
	if (noted && is_in_fault(noted, task))
		return 0;
	asking.mapping = (uint64_t)BPF_CORE_READ(inode, i_mapping);
	note_asking(task, &asking);
	return 0;
}

SEC("tp_btf/page_cache_sync_ra")
int begin_sync(uint64_t *ctx)
{
	return begin_read((void *)ctx[0], ctx[1], ctx[3]);
}

SEC("tp_btf/page_cache_async_ra")
int begin_async(uint64_t *ctx)
{
	return begin_read((void *)ctx[0], ctx[1], ctx[3]);
}

/* A page that was read ahead is written to. */
SEC("raw_tp/writeback_dirty_folio")
int write_folio(struct bpf_raw_tracepoint_args *ctx)
{
	const void *folio = (const void *)ctx->args[0];
	uint64_t from = folio_index(folio);

	settle_pages(ctx->args[1], from, from + folio_pages(folio), false);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
