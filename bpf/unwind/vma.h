/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mapping that holds an address, from the kernel's own list (mm_struct.mm_mt), where the daemon
 * doesn't know of it yet: the process, or the mapping, is there since a moment. Where the daemon
 * has a table of the mapped file (bpf/shared/known_files.h), the walk goes on.
 *
 * The list is a maple tree (since 6.1). It is read without its lock, as it may be: programs run as
 * RCU readers do. Of a single thread's list nodes may change while they are read; what was found is
 * checked: it has to hold the address.
 *
 * Source: include/linux/maple_tree.h, lib/maple_tree.c ("Maple Tree" in the kernel's documents).
 */
#pragma once

#include "bpf/unwind/unwind_env.h"

#ifdef WALKS_NEWCOMERS

#define MAPLE_DEPTH	  5
#define MAPLE_NODE_MASK	  255UL
#define MAPLE_TYPE(entry) ((entry) >> 3 & 15)
#define MAPLE_LEAF	  1 /* maple_leaf_64: parent, 15 pivots, 16 slots */
#define MAPLE_RANGE	  2 /* maple_range_64: the same */
#define MAPLE_ARANGE	  3 /* maple_arange_64: parent, 9 pivots, 10 slots, 10 gaps */
#define MAPLE_PIVOTS	  15
#define MAPLE_APIVOTS	  9
#define VM_EXEC		  4UL
#define ADDRESS_BITS	  48 /* of user code: higher ones are junk */

struct super_block {
	uint32_t s_dev;
} RELOCATED;

struct timespec64 {
	int64_t tv_sec;
	long tv_nsec;
} RELOCATED;

struct inode {
	unsigned long i_ino;
	int64_t i_size;
	struct super_block *i_sb;
	int64_t i_ctime_sec; /* since 6.11 */
	uint32_t i_ctime_nsec;
} RELOCATED;

struct inode___since_6_6 {
	struct timespec64 __i_ctime;
} RELOCATED;

struct inode___before {
	struct timespec64 i_ctime;
} RELOCATED;

struct file {
	struct inode *f_inode;
} RELOCATED;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct file *vm_file;
} RELOCATED;

struct maple_tree {
	void *ma_root;
} RELOCATED;

typedef struct {
	void *vdso;
} RELOCATED mm_context_t;

struct mm_struct___newer {
	struct maple_tree mm_mt;
	mm_context_t context;
} RELOCATED;

#define MAPLE_NODE_WORDS 32

/* What is found in a walk. One a CPU: only a clock's event, which no other interrupts, has it. */
struct newcomer {
	uint64_t node[MAPLE_NODE_WORDS];
	struct told_maps told;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct newcomer);
} newcomers SEC(".maps");

static __always_inline struct newcomer *newcomer_here(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&newcomers, &zero);
}

/* Of a page, as the kernel has them. Set before loading. */
const volatile uint32_t page_bits = 12;

uint64_t vma_find(uint32_t level, uint64_t address);
int vma_span(uint32_t level, uint64_t address);

/* Returns the slot of a node that holds the address. */
static __always_inline uint64_t slot_of(struct walk *walk, const uint64_t *node, uint64_t type,
					uint64_t address)
{
	uint32_t pivots = type == MAPLE_ARANGE ? MAPLE_APIVOTS : MAPLE_PIVOTS;

	BOUND(walk->low) = 0;
	for (uint32_t i = 0; i < MAPLE_PIVOTS; i++) {
		uint64_t pivot = node[1 + i]; /* the last address of slot i; 0: of the node */

		if (i >= pivots || pivot >= address || (!pivot && i))
			break;
		BOUND(walk->low) = i + 1;
	}
	return node[(1 + pivots + BOUND(walk->low)) & (MAPLE_NODE_WORDS - 1)];
}

/* Returns the struct vm_area_struct that holds the address; 0: there is none. */
__noinline uint64_t vma_find(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);
	struct newcomer *here = newcomer_here();
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct___newer *mm = (void *)BPF_CORE_READ(task, mm);
	uint64_t entry, type;

	if (!walk || !here || address >> ADDRESS_BITS || !bpf_core_field_exists(mm->mm_mt))
		return 0;
	entry = (uint64_t)BPF_CORE_READ(mm, mm_mt.ma_root);
	if ((entry & 3) != 2) /* no node: at most one mapping */
		return 0;
	for (int i = 0; i < MAPLE_DEPTH; i++) {
		type = MAPLE_TYPE(entry);
		if (type < MAPLE_LEAF || type > MAPLE_ARANGE ||
		    bpf_probe_read_kernel(here->node, sizeof(here->node),
					  (void *)(entry & ~MAPLE_NODE_MASK)))
			return 0;
		entry = slot_of(walk, here->node, type, address);
		if (type == MAPLE_LEAF)
			return entry & 3 ? 0 : entry;
	}
	return 0;
}

static __always_inline void read_key(const struct vm_area_struct *vma, struct known_file_key *key)
{
	struct inode *inode = BPF_CORE_READ(vma, vm_file, f_inode);
	struct inode___since_6_6 *since = (void *)inode;
	struct inode___before *before = (void *)inode;

	key->inode = BPF_CORE_READ(inode, i_ino);
	key->bytes = BPF_CORE_READ(inode, i_size);
	key->device = BPF_CORE_READ(inode, i_sb, s_dev);
	if (bpf_core_field_exists(inode->i_ctime_sec)) {
		key->changed_s = BPF_CORE_READ(inode, i_ctime_sec);
		/* (Above the nanoseconds the kernel keeps a mark.) */
		key->changed_ns = BPF_CORE_READ(inode, i_ctime_nsec) & ((1U << 30) - 1);
	} else if (bpf_core_field_exists(since->__i_ctime)) {
		key->changed_s = BPF_CORE_READ(since, __i_ctime.tv_sec);
		key->changed_ns = BPF_CORE_READ(since, __i_ctime.tv_nsec);
	} else {
		key->changed_s = BPF_CORE_READ(before, i_ctime.tv_sec);
		key->changed_ns = BPF_CORE_READ(before, i_ctime.tv_nsec);
	}
}

/* Returns whether the mapping is the vDSO: it has no file. */
static __always_inline bool is_vdso(uint64_t start)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct___newer *mm = (void *)BPF_CORE_READ(task, mm);

	return (uint64_t)BPF_CORE_READ(mm, context.vdso) == start;
}

/* Returns whether the mapping is the page in which probed instructions run ([uprobes]). */
static __always_inline bool is_probes_page(uint64_t start)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	return bpf_core_field_exists(mm->uprobes_state) &&
	       BPF_CORE_READ(mm, uprobes_state.xol_area) &&
	       BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr) == start;
}

/* The mapping is that of the segment of which it has most bytes, as the daemon takes it. */
static __always_inline bool shift_of(const struct known_file *file, uint64_t from, uint64_t to,
				     uint64_t *shift)
{
	uint64_t most = 0;

	for (int i = 0; i < KNOWN_SEGMENTS_MAX; i++) {
		const struct known_segment *segment = &file->segments[i];
		uint64_t low = segment->from > from ? segment->from : from;
		uint64_t high = segment->to < to ? segment->to : to;

		if (low < high && high - low > most) {
			most = high - low;
			*shift = segment->shift;
		}
	}
	return most;
}

static __always_inline void note_runtimes(struct walk *walk, uint32_t runtimes)
{
	if (runtimes & WALKS_JAVA)
		walk->pending |= WALKS_JAVA;
	else if (runtimes & WALKS_PYTHON)
		walk->head.python = PYTHON_PENDING;
}

/* Fills in walk->span's table. */
static __always_inline void take_file(struct walk *walk, const struct known_file *file,
				      uint64_t file_offset)
{
	struct span *span = &walk->span;
	uint64_t shift;

	note_runtimes(walk, file->runtimes);
	span->what = file->what;
	span->index = file->index;
	if (shift_of(file, file_offset, file_offset + (span->end - span->start), &shift))
		span->base = span->start - (file_offset + shift);
	else
		span->what = SPAN_BARE << SPAN_KIND_SHIFT;
}

static __always_inline void tell_mapping(struct walk *walk, uint64_t file_offset, uint32_t number)
{
	struct newcomer *here = newcomer_here();
	uint32_t count = walk->told;
	struct told_mapping *to;

	if (!here || count >= TOLD_MAX)
		return;
	for (uint32_t i = 0; i < TOLD_MAX && i < count; i++) {
		if (here->told.each[i].start == walk->span.start)
			return;
	}
	to = &here->told.each[count & (TOLD_MAX - 1)];
	to->start = walk->span.start;
	to->end = walk->span.end;
	to->file_offset = file_offset;
	to->number = number;
	walk->told = count + 1;
}

/* Finds the mapping that holds the address, and makes it walk->span. Returns 0 if there is none.
 * Code that was made at run time may be a Java VM's, which keeps no frame pointers, as long as
 * nothing is known of the process. */
__noinline int vma_span(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);
	const struct vm_area_struct *vma = (void *)vma_find(level, address);
	struct known_file_key key = {};
	const struct known_file *file;
	uint64_t file_offset;

	if (!walk || !vma)
		return 0;
	walk->span.start = BPF_CORE_READ(vma, vm_start);
	walk->span.end = BPF_CORE_READ(vma, vm_end);
	walk->span.what = SPAN_PENDING << SPAN_KIND_SHIFT;
	if (address - walk->span.start >= walk->span.end - walk->span.start ||
	    !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC)) {
		walk->span.end = walk->span.start = 0;
		return 0;
	}
	if (is_probes_page(walk->span.start)) { /* leave_probe() knows what runs there */
		walk->span.end = walk->span.start = 0;
		return 0;
	}
	walk->spans_number = 0; /* nobody tells the cache when this table goes */
	file_offset = BPF_CORE_READ(vma, vm_pgoff) << page_bits;
	if (BPF_CORE_READ(vma, vm_file)) {
		read_key(vma, &key);
	} else if (!is_vdso(walk->span.start)) {
		if (walk->spans_count)
			walk->span.what = SPAN_BARE << SPAN_KIND_SHIFT;
		return 1;
	} else {
		file_offset = 0;
		key.bytes = walk_is_narrow(walk) ? VDSO_KEY_NARROW : 0;
	}
	file = bpf_map_lookup_elem(&known_files, &key);
	if (!file)
		return 1;
	take_file(walk, file, file_offset);
	tell_mapping(walk, file_offset, file->number);
	return 1;
}

/* Sends the mappings that the walk went through. */
static __always_inline void vma_tell(const struct walk *walk)
{
	struct newcomer *here = walk->told ? newcomer_here() : NULL;
	uint64_t bytes;

	if (!here)
		return;
	here->told.kind = TOLD_MAPS_KIND;
	here->told.id = walk->head.target_id;
	here->told.tgid = walk->head.key.tgid;
	here->told.time_ns = bpf_ktime_get_ns();
	here->told.count = walk->told;
	bytes = here->told.count & (2 * TOLD_MAX - 1);
	bytes = TOLD_MAPS_LEAST + bytes * sizeof(struct told_mapping);
	if (bytes <= sizeof(here->told))
		bpf_ringbuf_output(&stacks, &here->told, bytes, BPF_RB_NO_WAKEUP);
}

#else

static __always_inline int vma_span(uint32_t level, uint64_t address)
{
	(void)level;
	(void)address;
	return 0;
}

static __always_inline void vma_tell(const struct walk *walk)
{
	(void)walk;
}

#endif
