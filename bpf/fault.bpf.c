// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Page faults, before and after:
 *
 *	before: a target? notes its counters and the kind of the fault, for this CPU
 *	after:  the same thread? the difference is what the fault added (faults.h) -> drawn by its
 *	        size -> admitted by the guard -> its stack, with its bytes
 *
 * A thread may sleep in between (mostly for a file's pages), other threads may fault there, and the
 * thread may wake up on another CPU. So at the switch away the pages added so far are kept in
 * `away`, and at the switch back the counters are noted anew. A fault of which nothing is known is
 * counted (LOST_UNMEASURED).
 */
#define GUARD_SKIPPED_NS 150ULL /* two programs */
#include "bpf/stack/hand_over.h"
#include "bpf/stack/probe_take.h"
#include "bpf/memory/rss.h"

#define FAULT_PRESENT 1U /* the page is there; arch/x86/include/asm/trap_pf.h */
#define FAULT_COPY    3U /* a write to a page that is there */

#define AWAY_MAX      4096

#define PAGES_OF_SIZE 16 /* the guard prefers large faults, for few stand for much */

/* What is known of a fault so far. */
struct fault {
	uint64_t faults;	    /* faults that the thread had before */
	uint32_t may_copy;	    /* 1: a write to a page that is there; vm_events is set */
	uint32_t cpu;		    /* in `away`: the CPU that the thread left */
	uint32_t present;	    /* the page was there (FAULT_PRESENT) */
	int32_t carried[RSS_KINDS]; /* pages that the fault added before the thread slept */
	struct resident before;
	struct vm_events vm_events;
};

/* The fault that is going on on a CPU. */
struct fault_slot {
	uint64_t offset;    /* cpu_offset(); 0: not read yet */
	uint64_t events_at; /* vm_events_at() */
	uint64_t draw;	    /* state of the CPU's random numbers (guard.h) */
	uint32_t tid;	    /* 0: no fault */
	uint32_t pages;	    /* size of the fault that has ended */
	struct fault fault;
	char head[MAP_BYTES]; /* buffer of cpu_offset() */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct fault_slot);
} fault_slots SEC(".maps");

/* Threads that sleep in a fault. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AWAY_MAX);
	__type(key, uint32_t);
	__type(value, struct fault);
} away SEC(".maps");

int64_t away_count;

HAND_OVER_SLOT(after_slot);

struct fault_settings faults;

const volatile uint32_t page_bytes = 4096;

static __always_inline struct fault_slot *fault_slot(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&fault_slots, &zero);
}

/* Counts the fault in the slot as not measured: it has not ended on this CPU. If the same thread
 * has ended no fault since, that fault failed and isn't counted. */
static __always_inline void drop_noted(const struct fault_slot *slot, const struct faulting *who)
{
	if (slot->tid != who->tid || slot->fault.faults != who->faults)
		count_loss(LOST_UNMEASURED, PROBE_MEM, 1);
}

static __always_inline bool drop_away(uint32_t tid)
{
	if (!away_count || bpf_map_delete_elem(&away, &tid))
		return false;
	__sync_fetch_and_add(&away_count, -1);
	return true;
}

/* Finds this CPU's counters, at the first fault on the CPU. */
static __always_inline void find_cpu(struct fault_slot *slot, struct task_struct *task)
{
	if (slot->offset)
		return;
	slot->offset = cpu_offset(&fault_slots, slot, slot->head);
	slot->events_at = vm_events_at(task);
}

static __always_inline int before_fault(uint64_t error_code)
{
	struct faulting who;
	struct target_value *target;
	struct fault_slot *slot;
	struct fault *fault;

	look_at_faulting(&who);
	target = bpf_map_lookup_elem(&targets, &who.tgid);
	if (!target_wants(target, PROBE_MEM) || who.disabled)
		return 0;
	slot = fault_slot();
	if (!slot)
		return 0;
	if (slot->tid)
		drop_noted(slot, &who);
	slot->tid = 0;
	find_cpu(slot, who.task);
	fault = &slot->fault;
	if (!read_resident(who.task, slot->offset, &fault->before))
		return 0;
	fault->may_copy = (error_code & FAULT_COPY) == FAULT_COPY &&
			  read_vm_events(slot->events_at, &fault->vm_events);
	__builtin_memset(fault->carried, 0, sizeof(fault->carried));
	fault->present = error_code & FAULT_PRESENT;
	fault->faults = who.faults;
	slot->tid = who.tid;
	return 0;
}

SEC("tp_btf/page_fault_user")
int before_user(uint64_t *ctx)
{
	return before_fault(ctx[2]);
}

SEC("tp_btf/page_fault_kernel")
int before_kernel(uint64_t *ctx)
{
	return before_fault(ctx[2]);
}

/* For kernels without these tracepoints: the software event page-faults. */
SEC("perf_event")
int before_any(struct bpf_perf_event_data *ctx)
{
	return before_fault(0);
}

static __always_inline void add_grown(const struct fault *fault, const struct resident *now,
				      int32_t grown[RSS_KINDS])
{
	grown[RSS_FILE] =
		fault->carried[RSS_FILE] + grown_of(RSS_FILE, fault->present, &fault->before, now);
	grown[RSS_ANON] =
		fault->carried[RSS_ANON] + grown_of(RSS_ANON, fault->present, &fault->before, now);
	grown[RSS_SHMEM] = fault->carried[RSS_SHMEM] +
			   grown_of(RSS_SHMEM, fault->present, &fault->before, now);
}

/* Returns whether the fault was a write to a page that was there, and needed a new page. */
static __always_inline bool is_copied(const struct fault_slot *slot)
{
	const struct fault *fault = &slot->fault;
	struct vm_events now;

	return fault->may_copy && read_vm_events(slot->events_at, &now) &&
	       now.reused == fault->vm_events.reused && now.allocated != fault->vm_events.allocated;
}

/* Returns what the fault added; PART_ALL: nothing. */
static __always_inline enum count_part measure_fault(const struct fault_slot *slot,
						     struct task_struct *task, uint32_t *pages)
{
	const struct fault_sizes sizes = {huge_pages, batch_pages};
	int32_t grown[RSS_KINDS] = {0};
	struct resident now;
	enum count_part part;

	if (!read_resident(task, slot->offset, &now))
		return PART_ALL;
	add_grown(&slot->fault, &now, grown);
	part = fault_part(grown, &sizes, pages);
	if (part == PART_ALL && is_copied(slot)) {
		*pages = 1;
		return PART_COW;
	}
	return part;
}

/* Draws a fault by its size, and sets the bytes and faults that it stands for. Returns false if it
 * isn't drawn. */
static __always_inline bool draw_fault(struct fault_slot *slot, uint32_t pages,
				       struct taking *taking)
{
	const struct fault_chance *chance;
	uint64_t bytes = (uint64_t)pages * page_bytes, rest;

	taking->weight = bytes;
	taking->events = 1;
	if (pages > FAULT_PAGES_MAX)
		return true;
	chance = &faults.chances[faults.table & 1][pages];
	if (chance->last == ~0U)
		return true;
	if (draw_from(&slot->draw) > chance->last)
		return false;
	taking->weight = chance->bytes;
	taking->events = chance->bytes / bytes;
	rest = chance->bytes % bytes;
	taking->events += (uint64_t)draw_from(&slot->draw) * bytes >> 32 < rest;
	return true;
}

static __always_inline void take_fault(struct bpf_perf_event_data *ctx, uint32_t tgid,
				       struct taking *taking)
{
	const struct target_value *target = bpf_map_lookup_elem(&targets, &tgid);
	struct stack_key key;

	if (target)
		probe_walk(ctx, PROBE_MEM, (const struct pt_regs *)&ctx->regs, target, taking,
			   &key);
}

/*
 * Finds the fault of a thread whose fault isn't in the slot. The thread may be back unseen: while
 * others attach to the tracepoint of switches, or detach, the kernel leaves out a program now and
 * then. If the thread is on the CPU that it left, the counters go on from there (with those of
 * other threads that ran there meanwhile). Returns false if the fault isn't measured, or there was
 * none.
 */
static __always_inline bool find_away(struct fault_slot *slot, uint32_t tid)
{
	const struct fault *kept = away_count ? bpf_map_lookup_elem(&away, &tid) : NULL;
	uint64_t lost = slot->tid != 0; /* a thread that left unseen */
	bool is_measured;

	if (!kept)
		return false;
	slot->fault = *kept;
	slot->fault.may_copy = 0;
	drop_away(tid);
	is_measured = !has_own_by_cpu() || slot->fault.cpu == bpf_get_smp_processor_id();
	lost += !is_measured;
	if (lost)
		count_loss(LOST_UNMEASURED, PROBE_MEM, lost);
	return is_measured;
}

SEC("perf_event")
int after(struct bpf_perf_event_data *ctx)
{
	struct fault_slot *slot;
	struct taking taking = {0};
	struct faulting who;
	uint32_t pages = 0, interval;
	bool second;

	hand_over(ctx, &after_slot);
	slot = fault_slot();
	if (!slot || (!slot->tid && !away_count))
		return 0;
	look_at_faulting(&who);
	if (slot->tid != who.tid && !find_away(slot, who.tid))
		return 0;
	slot->tid = 0;
	/* Each way through these functions brings other ranges. The verifier doesn't follow them.
	 */
	taking.part = forget_value(measure_fault(slot, who.task, &pages), who.faults);
	*(volatile uint32_t *)&slot->pages = pages;
	pages = *(volatile uint32_t *)&slot->pages;
	if (taking.part == PART_ALL || !draw_fault(slot, pages, &taking))
		return 0;
	taking.weight = forget_value(taking.weight, who.faults);
	taking.events = forget_value(taking.events, who.faults);
	interval = forget_value(guard_draws(PROBE_MEM, pages / PAGES_OF_SIZE, &second), who.faults);
	if (!interval)
		return 0;
	taking.weight *= interval;
	taking.events *= interval;
	take_fault(ctx, who.tgid, &taking);
	return 0;
}

/* Keeps the fault of `prev`, which sleeps in it or is preempted. */
static __always_inline void leave_fault(struct fault_slot *slot, struct task_struct *prev)
{
	struct fault *fault = &slot->fault;
	struct vm_events now;
	struct resident after;
	uint32_t tid = slot->tid;

	slot->tid = 0;
	if (has_own_by_cpu()) {
		if (!read_resident(prev, slot->offset, &after))
			return;
		add_grown(fault, &after, fault->carried);
		fault->before = after;
	}
	fault->cpu = bpf_get_smp_processor_id();
	if (fault->may_copy && read_vm_events(slot->events_at, &now)) {
		fault->vm_events.reused -= now.reused;
		fault->vm_events.allocated -= now.allocated;
	}
	if (bpf_map_update_elem(&away, &tid, fault, BPF_NOEXIST))
		count_loss(LOST_UNMEASURED, PROBE_MEM, 1);
	else
		__sync_fetch_and_add(&away_count, 1);
}

/* Goes on with the fault of `next`, if it has one, on this CPU. */
static __always_inline void come_back(struct fault_slot *slot, struct task_struct *next)
{
	uint32_t tid = next->pid;
	const struct fault *kept = bpf_map_lookup_elem(&away, &tid);
	struct fault *fault = &slot->fault;
	struct vm_events now;

	if (!kept)
		return;
	*fault = *kept;
	drop_away(tid);
	find_cpu(slot, next);
	if (has_own_by_cpu() && !read_resident(next, slot->offset, &fault->before))
		return;
	if (fault->may_copy && read_vm_events(slot->events_at, &now)) {
		fault->vm_events.reused += now.reused;
		fault->vm_events.allocated += now.allocated;
	}
	slot->tid = tid;
}

SEC("tp_btf/sched_switch")
int on_fault_switch(uint64_t *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct fault_slot *slot = fault_slot();

	if (!slot)
		return 0;
	if (slot->tid && slot->tid == (uint32_t)prev->pid)
		leave_fault(slot, prev);
	if (away_count)
		come_back(slot, next);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
