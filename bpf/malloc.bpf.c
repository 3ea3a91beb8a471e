// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of allocators, and of mmap() and its kin (enum call; see bpf/memory/call.h):
 *
 *	entry    size -> drawn? (byte_sampler.h; most aren't: done) -> a target's? -> call_args.h
 *	         mmap: a target's, not the library's own? -> mapping_calls.h
 *	return   an address? -> stack as right after the call (stack.h), counted -> live_allocs.h
 *	         mmap: an event of the range
 *	free     out of live_allocs.h
 *
 * All processes share the points, so all of them count bytes down: a process that is no target
 * loses nothing when its bytes are drawn.
 */
#include "bpf/memory/byte_sampler.h"
#include "bpf/memory/live_allocs.h"
#include "bpf/memory/call.h"
#include "bpf/memory/call_args.h"
#include "bpf/memory/mapping_calls.h"

uint64_t sample_bytes; /* mean distance of sampled bytes; 0: each allocation is taken */

uint64_t keeps_age; /* 1: a block that realloc() gives is as old as the one it was given */

/* Set before loading: the kernel gives each point's cookie (bpf/shared/allocations.h). */
const volatile bool has_cookies = true;

/* Set before loading: bytes of the machine's memory, swap included; 0: the kernel may refuse any
 * memory (strict overcommit). */
const volatile uint64_t memory_bytes = 0;

#define NS_PER_MILLISECOND 1000000ULL
#define SIZE_LIMIT	   (1ULL << 53) /* no allocation is as large */

#define RLIMIT_DATA	   2 /* include/uapi/asm-generic/resource.h */
#define RLIMIT_AS	   9
#define NEW_ROOM	   (64ULL << 20) /* allocators ask the kernel for more than they need */
#define NEW_MAPS	   60000 /* mappings; the kernel refuses more than 65,530, unless told otherwise */

int call_begins(struct bpf_user_pt_regs_t *ctx, uint32_t call, uint64_t size, uint32_t drawn,
		uint64_t mean);

/* Returns count * size, or SIZE_LIMIT if that is too large. */
static __always_inline uint64_t saturated_product(uint64_t count, uint64_t size)
{
	if ((count | size) >> 32 && count && size > SIZE_LIMIT / count)
		return SIZE_LIMIT;
	return count * size;
}

static __always_inline uint64_t size_asked(const struct pt_regs *regs, uint32_t call)
{
	switch (call) {
	case CALL_SIZE:
	case CALL_NEW:
		return PT_REGS_PARM1(regs);
	case CALL_COUNT:
		return saturated_product(PT_REGS_PARM1(regs), PT_REGS_PARM2(regs));
	case CALL_REALLOC_COUNT:
		return saturated_product(PT_REGS_PARM2(regs), PT_REGS_PARM3(regs));
	case CALL_POSIX_MEMALIGN:
		return PT_REGS_PARM3(regs);
	default:
		return PT_REGS_PARM2(regs);
	}
}

static __always_inline bool call_reallocates(uint32_t call)
{
	return call == CALL_REALLOC || call == CALL_REALLOC_COUNT;
}

/* Returns whether this call of realloc() calls malloc(), which is probed. */
static __always_inline bool is_malloc(struct pt_regs *regs, uint32_t call)
{
	return call == CALL_REALLOC && has_cookies && !PT_REGS_PARM1(regs) &&
	       bpf_get_attach_cookie(regs) & COOKIE_NULL_IS_MALLOC;
}

/* Returns whether the call is a part of another function's call, which is probed as well. */
static __always_inline bool is_inner(struct pt_regs *regs, uint32_t call)
{
	uint64_t cookie, bytes, address = 0;

	if (!has_sessions || !has_cookies || call_reallocates(call))
		return false;
	cookie = bpf_get_attach_cookie(regs);
	bytes = cookie >> COOKIE_BYTES_SHIFT & COOKIE_BYTES_MAX;
	if (!bytes)
		return false;
	bpf_probe_read_user(&address, sizeof(address), (const void *)PT_REGS_SP(regs));
	return address - PT_REGS_IP(regs) - (uint64_t)(int64_t)(int32_t)cookie < bytes;
}

/* Returns the guard's weight of a drawn call; 0: it isn't taken. A call of many means stands only
 * for itself, so the guard draws it more likely: chance shouldn't decide whether it is shown. */
static __always_inline uint32_t guard_admits_call(uint32_t tgid, uint64_t size, uint64_t mean)
{
	uint64_t means = mean ? size / mean : 0;
	bool second;

	if (!is_wanted(bpf_map_lookup_elem(&targets, &tgid)))
		return 0;
	if (means > GUARD_SIZE_MAX)
		means = GUARD_SIZE_MAX;
	means = forget_value(means, size);
	return guard_draws(PROBE_MEM_GLIBC, means, &second);
}

/* Makes the call the awaited one; earlier calls that it isn't a part of are given up. (A session's
 * program is called at their returns all the same.) */
static __always_inline void await_return(struct pending *pending, uint64_t sp, bool lets_go)
{
	uint32_t keeps_old = !lets_go && pending->old_sp > sp;

	keeps_old = forget_value(keeps_old, sp);
	if (!has_sessions && pending->sp && !(keeps_old && pending->sp == pending->old_sp))
		count_under_way(pending->sp, -1);
	if (!has_sessions && pending->old_sp && !keeps_old && pending->old_sp != pending->sp)
		count_under_way(pending->old_sp, -1);
	if (!keeps_old)
		pending->old_sp = lets_go ? sp : 0;
	pending->sp = sp;
	count_under_way(sp, 1);
}

/* Sets what a drawn call stands for. */
static __always_inline void weigh_call(struct pending *pending, uint64_t size, uint64_t mean)
{
	uint64_t worth = countdown_weight(size, mean);

	pending->bytes = round_places(worth, COUNTDOWN_PLACES, draw_random()) * pending->weight;
	pending->objects = countdown_objects(worth, size, draw_random()) * pending->weight;
}

/* Begins a call of that size that was drawn (one of `mean` bytes), or may remove a live allocation.
 * Returns whether its return is wanted. */
__noinline int call_begins(struct bpf_user_pt_regs_t *ctx, uint32_t call, uint64_t size,
			   uint32_t drawn, uint64_t mean)
{
	struct pt_regs *regs = (struct pt_regs *)ctx;
	uint64_t id = bpf_get_current_pid_tgid();
	uint32_t tgid = id >> 32, weight;
	struct allocation old = {};
	struct pending *pending;
	uint32_t lets_go;

	lets_go = call_reallocates(call) && PT_REGS_PARM1(regs) &&
		  let_go(PT_REGS_PARM1(regs), tgid, &old);
	lets_go = forget_value(lets_go, id);
	weight = forget_value(drawn ? guard_admits_call(tgid, size, mean) : 0, id);
	mean = forget_value(mean, id);
	if (!size || (!weight && !lets_go))
		return 0;
	pending = pending_make();
	if (!pending) {
		if (weight)
			count_loss(LOST_PENDING_FULL, PROBE_MEM_GLIBC,
				   countdown_objects(countdown_weight(size, mean), size,
						     draw_random()) *
					   weight);
		return 0;
	}
	await_return(pending, sp_returned(regs), lets_go);
	if (lets_go) {
		pending->old = old;
		pending->old_address = PT_REGS_PARM1(regs);
		pending->born_ns = keeps_age ? old.time_ns - old.older_ms * NS_PER_MILLISECOND : 0;
	}
	pending->place = call == CALL_POSIX_MEMALIGN ? PT_REGS_PARM1(regs) : 0;
	pending->entry = PT_REGS_IP(regs);
	pending->call = call;
	pending->weight = weight;
	pending->bytes = size * weight;
	pending->objects = weight;
	if (weight && mean)
		weigh_call(pending, size, mean);
	return 1;
}

/* Returns the address that the call has returned; 0: it failed. */
static __always_inline uint64_t address_given(const struct pt_regs *regs,
					      const struct pending *pending, bool is_its)
{
	uint64_t address = 0, result = PT_REGS_RC(regs);

	__asm__ volatile("" : "+r"(result)); /* one load: the verifier wants it at its offset */
	if (!is_its || pending->call != CALL_POSIX_MEMALIGN)
		return result;
	if ((uint32_t)result == 0)
		bpf_probe_read_user(&address, sizeof(address), (const void *)pending->place);
	return address;
}

/* Handles the return of a call that may be awaited: a hash says so. Returns whether there is a new
 * allocation whose stack is wanted, which is in *returned. */
static __always_inline bool call_returns(struct pt_regs *regs, uint32_t tgid,
					 struct returned *returned)
{
	struct pending *pending = pending_find();
	uint64_t sp = PT_REGS_SP(regs);
	bool is_its = pending && pending->sp == sp;
	bool lets_go = pending && pending->old_sp == sp;

	if (has_sessions || is_its || lets_go)
		count_under_way(sp, -1);
	if (!is_its && !lets_go)
		return false;
	returned->address = address_given(regs, pending, is_its);
	if (lets_go && !returned->address)
		hold_allocation(pending->old_address, tgid, &pending->old);
	returned->taking.weight = is_its && returned->address ? pending->bytes : 0;
	returned->taking.events = pending->objects;
	returned->taking.leaf = pending->entry;
	returned->weight = pending->weight;
	returned->born_ns = is_its && lets_go ? pending->born_ns : 0;
	if (is_its)
		pending->sp = 0;
	if (lets_go)
		pending->old_sp = 0;
	pending_end(pending);
	return returned->taking.weight;
}

static __always_inline void hold_returned(const struct returned *returned,
					  const struct stack_key *stack, uint64_t time_ns)
{
	uint64_t id = bpf_get_current_pid_tgid();
	struct allocation given = {.stack = *stack,
				   .time_ns = time_ns,
				   .bytes = returned->taking.weight,
				   .objects = returned->taking.events,
				   .tid = id};

	if (returned->born_ns && returned->born_ns < time_ns)
		given.older_ms = (time_ns - returned->born_ns) / NS_PER_MILLISECOND;
	hold_allocation(returned->address, id >> 32, &given);
}

/* Takes the stack of what a call of a target has returned. */
static __always_inline void take_returned(struct pt_regs *regs, struct returned *returned,
					  const struct target_value *target)
{
	uint64_t began_ns = bpf_ktime_get_ns();
	struct target_value wanted = *target;
	struct stack_key stack;
	bool taken;

	taken = take_stack_as(regs, regs, &wanted, PROBE_MEM_GLIBC, &returned->taking, &stack);
	if (returned->taking.part == PART_MAPPED)
		tell_came(returned, &stack, taken, began_ns);
	else if (taken)
		hold_returned(returned, &stack, began_ns);
	guard_account(PROBE_MEM_GLIBC, returned->weight, began_ns);
}

SEC("uprobe")
int take_return(struct pt_regs *ctx)
{
	struct returned returned = {.taking.part = PART_ALL};
	uint64_t id = bpf_get_current_pid_tgid();
	uint32_t tid = id, tgid = id >> 32;
	const struct target_value *target = bpf_map_lookup_elem(&targets, &tgid);
	const struct mapping_call *mapping = bpf_map_lookup_elem(&mapping_calls, &tid);
	bool shows = false;

	if (mapping && mapping->is_at_return) {
		shows = is_wanted(target) && mapping_returns(ctx, mapping, tgid, &returned);
		bpf_map_delete_elem(&mapping_calls, &tid);
	} else if (*under_way_of(PT_REGS_SP(ctx))) {
		shows = call_returns(ctx, tgid, &returned);
	}
	returned.taking.part = forget_value(returned.taking.part, id);
	if (shows && is_wanted(target))
		take_returned(ctx, &returned, target);
	return 0;
}

/* ---- allocators: the entry ---- */

/* Returns whether the limit leaves no or little room. */
static __always_inline bool is_beyond(const struct rlimit *limit, uint64_t pages, uint64_t size)
{
	uint64_t most = BPF_CORE_READ(limit, rlim_cur);

	return size + NEW_ROOM > most || pages * page_bytes > most - size - NEW_ROOM;
}

/*
 * Returns whether operator new may find no memory. It would throw, and the exception would not find
 * its way through a probed return: it would end the program. So such a call isn't awaited.
 */
static __always_inline bool may_throw(uint64_t size)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	const struct signal_struct *signal = BPF_CORE_READ(task, signal);

	return size + NEW_ROOM > memory_bytes || BPF_CORE_READ(mm, map_count) > NEW_MAPS ||
	       is_beyond(&signal->rlim[RLIMIT_AS], BPF_CORE_READ(mm, total_vm), size) ||
	       is_beyond(&signal->rlim[RLIMIT_DATA], BPF_CORE_READ(mm, data_vm), size);
}

static __always_inline int on_alloc(struct pt_regs *ctx, uint32_t call)
{
	struct bpf_user_pt_regs_t *regs = (struct bpf_user_pt_regs_t *)ctx;
	uint64_t size, mean = *(volatile uint64_t *)&sample_bytes;
	bool drawn;

	if (has_sessions && *under_way_of(PT_REGS_SP(ctx)) && is_at_return(ctx)) {
		bpf_tail_call(ctx, &returning, 0);
		return 0;
	}
	size = size_asked(ctx, call);
	if (size >= SIZE_LIMIT || is_malloc(ctx, call))
		return NO_RETURN;
	drawn = !mean || countdown_takes(size, mean);
	if (call == CALL_NEW && drawn && may_throw(size))
		return NO_RETURN;
	if (!drawn && !(call_reallocates(call) && PT_REGS_PARM1(ctx)))
		return NO_RETURN;
	if (is_inner(ctx, call))
		return NO_RETURN;
	return call_begins(regs, call, size, drawn, mean) ? 0 : NO_RETURN;
}

CALL_PROGRAM(on_size, on_alloc, CALL_SIZE)
CALL_PROGRAM(on_new, on_alloc, CALL_NEW)
CALL_PROGRAM(on_count, on_alloc, CALL_COUNT)
CALL_PROGRAM(on_realloc, on_alloc, CALL_REALLOC)

/* Program for points of realloc() without cookies, where realloc() without an address is
 * malloc(). */
SEC("uprobe")
int on_realloc_alone(struct pt_regs *ctx)
{
	return PT_REGS_PARM1(ctx) ? on_alloc(ctx, CALL_REALLOC) : NO_RETURN;
}

/* The calls that are rare: a session for all of them, or a program for each. */
SEC("uprobe")
int on_rare(struct pt_regs *ctx)
{
	uint32_t call = call_of_point(ctx);

	if (call != CALL_ALIGNED && call != CALL_REALLOC_COUNT && call != CALL_POSIX_MEMALIGN)
		return NO_RETURN;
	return on_alloc(ctx, call);
}

CALL_PROGRAM(on_aligned, on_alloc, CALL_ALIGNED)
CALL_PROGRAM(on_realloc_count, on_alloc, CALL_REALLOC_COUNT)
CALL_PROGRAM(on_posix_memalign, on_alloc, CALL_POSIX_MEMALIGN)

SEC("uprobe")
int on_free(struct pt_regs *ctx)
{
	struct allocation_key key = {.address = PT_REGS_PARM1(ctx)};

	if (!key.address)
		return NO_RETURN;
	key.tgid = bpf_get_current_pid_tgid() >> 32;
	if (!sample_bytes || bpf_map_lookup_elem(&held, &key))
		bpf_map_delete_elem(&held, &key);
	return NO_RETURN;
}

/* Program for returns, where programs are no sessions. */
SEC("uprobe")
int on_return(struct pt_regs *ctx)
{
	if (*under_way_of(PT_REGS_SP(ctx)))
		bpf_tail_call(ctx, &returning, 0);
	return 0;
}

/* ---- mmap() and its kin ---- */

/* Goes on in take_return() if this is the return of a call that was noted. */
static __always_inline int mapping_return(struct pt_regs *ctx)
{
	struct mapping_call *call = mapping_at_return(ctx);

	if (!call)
		return 0;
	call->is_at_return = true;
	bpf_tail_call(ctx, &returning, 0);
	return 0;
}

static __always_inline int on_map(struct pt_regs *ctx, uint32_t call)
{
	if (has_sessions && is_at_return(ctx))
		return mapping_return(ctx);
	return mapping_begins((struct bpf_user_pt_regs_t *)ctx, call) ? 0 : NO_RETURN;
}

/* A session for all of these calls, or a program for each. */
CALL_PROGRAM(on_mapping, on_map, call_of_point(ctx))
CALL_PROGRAM(on_mmap, on_map, CALL_MMAP)
CALL_PROGRAM(on_munmap, on_map, CALL_MUNMAP)
CALL_PROGRAM(on_mremap, on_map, CALL_MREMAP)

/* Program for returns, where programs are no sessions. */
SEC("uprobe")
int on_mapping_return(struct pt_regs *ctx)
{
	return mapping_return(ctx);
}

char LICENSE[] SEC("license") = "GPL";
