/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of mmap(), munmap() and mremap() by programs themselves: each range that came or went is
 * reported (struct mapped_event).
 *
 *	entry    a target's? by the library itself? (done) -> mapping_calls
 *	return   done as asked? -> event of the range that went; a range came? its stack -> event
 *
 * All calls are taken, for the ranges have to be exact.
 */
#pragma once

#include "bpf/core/guard.h"
#include "bpf/memory/call.h"

#define MAPPING_CALLS	 8192
#define MAPPED_RING	 (256 * 1024)
#define MREMAP_DONTUNMAP 4	 /* include/uapi/linux/mman.h */
#define MAP_HUGETLB	 0x40000 /* include/uapi/asm-generic/hugetlb_encode.h has the sizes */
#define HUGE_SHIFT	 21	 /* usual size of huge pages: 1 << this */
#define FAILED_FROM	 (-4095ULL)

const volatile uint64_t page_bytes = 4096; /* set before loading */

/* A call under way. */
struct mapping_call {
	uint64_t entry; /* the probed instruction */
	uint64_t sp;	/* right after its return */
	uint64_t began_ns;
	uint64_t start, end; /* munmap, mremap: the range given back */
	uint64_t length;     /* mmap, mremap: the length wanted */
	uint64_t round;	     /* the length is rounded up to multiples of this */
	uint32_t call;	     /* enum call */
	uint32_t is_at_return;
};

/* Calls under way, by thread. A thread that ends in a call leaves its entry behind; such entries
 * make room when room is needed. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAPPING_CALLS);
	__type(key, uint32_t);
	__type(value, struct mapping_call);
} mapping_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, MAPPED_RING);
} mapped SEC(".maps");

int mapping_begins(struct bpf_user_pt_regs_t *ctx, uint32_t call);

static __always_inline void send_mapped(const struct mapped_event *event)
{
	/* A reader of the ranges reads the ring before. */
	uint64_t flag = bpf_ringbuf_query(&mapped, BPF_RB_AVAIL_DATA) > MAPPED_RING / 4
				? BPF_RB_FORCE_WAKEUP
				: BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_output(&mapped, (void *)event, sizeof(*event), flag))
		count_loss(LOST_MAPPED_FULL, PROBE_MEM_GLIBC, 1);
}

/* ---- the entry ---- */

/* Returns whether the program's own code is there: a static program has its C library in the same
 * mapping. */
static __always_inline bool is_of_program(uint64_t address)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	return address - BPF_CORE_READ(mm, start_code) <
	       BPF_CORE_READ(mm, end_code) - BPF_CORE_READ(mm, start_code);
}

/* Returns whether the caller is code of the mapping that has the function, and the mapping is a
 * library's: the C library and its allocator map what they need for themselves. */
static __always_inline bool is_librarys_own(struct walk *walk, uint64_t ip, uint64_t stack,
					    uint64_t address)
{
	if (!span_search(walk->level, ip) || is_of_program(ip))
		return false;
	if (span_holds(&walk->span, address))
		return true;
	address = arch_code_address(probed_return(walk->level, stack, false));
	return address && span_holds(&walk->span, address);
}

static __always_inline bool is_librarys(struct pt_regs *regs, const struct target_value *target)
{
	uint64_t stack = PT_REGS_SP(regs), address = 0;
	struct walk *walk = walk_for(PROBE_MEM_GLIBC, 1);
	bool own;

	if (!walk)
		return false;
	if (ARCH_RETURN_REG < ARCH_REGS)
		address = arch_code_address(PT_REGS_RET(regs));
	else
		read_user(&address, sizeof(address), stack);
	walk->spans = target->spans;
	walk->spans_count = target->spans_count;
	walk->spans_number = target->spans_number;
	own = is_librarys_own(walk, PT_REGS_IP(regs), stack, address);
	walk_give_back(walk);
	return own;
}

static __always_inline uint64_t rounded_up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) & ~(to - 1);
}

static __always_inline void set_call(struct mapping_call *call, struct pt_regs *regs)
{
	uint64_t address = PT_REGS_PARM1(regs), length = PT_REGS_PARM2(regs);
	uint32_t flags = PT_REGS_PARM4(regs), shift = flags >> 26 & 63;

	call->round = page_bytes;
	if (call->call == CALL_MMAP) {
		call->length = length;
		if (flags & MAP_HUGETLB)
			call->round = 1ULL << (shift ? shift : HUGE_SHIFT);
		return;
	}
	call->start = address;
	call->end = rounded_up(address + length, page_bytes);
	if (call->call == CALL_MUNMAP)
		return;
	call->length = PT_REGS_PARM3(regs);
	if (flags & MREMAP_DONTUNMAP || !length)
		call->end = call->start;
}

/* Begins a call. Returns whether its return is wanted. */
__noinline int mapping_begins(struct bpf_user_pt_regs_t *ctx, uint32_t number)
{
	struct pt_regs *regs = (struct pt_regs *)ctx;
	uint64_t id = bpf_get_current_pid_tgid();
	uint32_t tid = id, tgid = id >> 32;
	struct target_value *target = bpf_map_lookup_elem(&targets, &tgid);
	struct mapping_call call = {.call = number};

	if (!is_wanted(target) || is_librarys(regs, target))
		return 0;
	call.entry = PT_REGS_IP(regs);
	call.sp = sp_returned(regs);
	call.began_ns = bpf_ktime_get_ns();
	set_call(&call, regs);
	if (bpf_map_update_elem(&mapping_calls, &tid, &call, BPF_ANY)) {
		count_loss(LOST_PENDING_FULL, PROBE_MEM_GLIBC, 1);
		return 0;
	}
	return 1;
}

/* ---- the return ---- */

/* Returns the current thread's call if it is at its return; NULL: it isn't, or wasn't noted. */
static __always_inline struct mapping_call *mapping_at_return(struct pt_regs *regs)
{
	uint32_t tid = bpf_get_current_pid_tgid();
	struct mapping_call *call = bpf_map_lookup_elem(&mapping_calls, &tid);

	return call && call->sp == PT_REGS_SP(regs) ? call : NULL;
}

static __always_inline void tell_gone(struct mapped_event *event, const struct mapping_call *call,
				      uint32_t tgid)
{
	*event = (struct mapped_event){.kind = MAPPED_GONE,
				       .stack.tgid = tgid,
				       .start = call->start,
				       .end = call->end,
				       .time_ns = call->began_ns};
	if (event->start < event->end)
		send_mapped(event);
}

/* Reports a new range; without a stack (`taken` false), the older ranges there are gone all the
 * same. */
static __always_inline void tell_came(const struct returned *from, const struct stack_key *stack,
				      bool taken, uint64_t time_ns)
{
	uint64_t id = bpf_get_current_pid_tgid();
	struct mapped_event event = {.kind = taken ? MAPPED_CAME : MAPPED_GONE,
				     .tid = id,
				     .start = from->address,
				     .end = from->address + from->taking.weight,
				     .time_ns = time_ns};

	if (taken)
		event.stack = *stack;
	else
		event.stack = (struct stack_key){.tgid = id >> 32};
	send_mapped(&event);
}

/* Handles the return of a call of a target: reports what is gone. Returns whether a range came,
 * which is in *returned. */
static __always_inline bool mapping_returns(struct pt_regs *regs, const struct mapping_call *call,
					    uint32_t tgid, struct returned *returned)
{
	uint64_t result = PT_REGS_RC(regs);
	struct mapped_event event;

	if (call->call == CALL_MUNMAP ? (uint32_t)result != 0 : result >= FAILED_FROM)
		return false;
	tell_gone(&event, call, tgid);
	if (call->call == CALL_MUNMAP)
		return false;
	returned->taking.weight = rounded_up(call->length, call->round);
	returned->taking.events = returned->weight = 1;
	returned->taking.part = PART_MAPPED;
	returned->taking.leaf = call->entry;
	returned->address = result;
	return returned->taking.weight;
}
