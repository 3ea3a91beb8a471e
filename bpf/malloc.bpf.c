// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of allocators, one program for each kind (enum call; see bpf/memory/call.h):
 *
 *	entry    size -> drawn? (byte_sampler.h; most aren't: done) -> a target's? -> call_args.h
 *	return   an address? -> stack as right after the call (stack.h), counted -> live_allocs.h
 *	free     out of live_allocs.h
 *
 * All processes share the points, so all of them count bytes down: a process that is no target
 * loses nothing when its bytes are drawn.
 */
#include "bpf/memory/byte_sampler.h"
#include "bpf/memory/live_allocs.h"
#include "bpf/memory/call.h"
#include "bpf/memory/call_args.h"
#include "bpf/stack/stack.h"

uint64_t sample_bytes; /* mean distance of sampled bytes; 0: each allocation is taken */

/* Set before loading: the kernel gives each point's cookie (bpf/shared/allocations.h). */
const volatile bool has_cookies = true;

/* Set before loading: bytes of the machine's memory, swap included; 0: the kernel may refuse any
 * memory (strict overcommit). */
const volatile uint64_t memory_bytes = 0;

#define SIZE_LIMIT  (1ULL << 53) /* no allocation is as large */

#define RLIMIT_DATA 2 /* include/uapi/asm-generic/resource.h */
#define RLIMIT_AS   9
#define NEW_ROOM    (64ULL << 20) /* allocators ask the kernel for more than they need */
#define PAGE_BYTES  4096
#define NEW_MAPS    60000 /* mappings; the kernel refuses more than 65,530, unless told otherwise */

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
	uint64_t cookie, address = 0;

	if (!has_sessions || !has_cookies || call_reallocates(call))
		return false;
	cookie = bpf_get_attach_cookie(regs);
	if (!(cookie >> 32))
		return false;
	bpf_probe_read_user(&address, sizeof(address), (const void *)PT_REGS_SP(regs));
	return address - PT_REGS_IP(regs) - (uint64_t)(int64_t)(int32_t)cookie < cookie >> 32;
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

/* Takes the stack of an allocation, and adds the live allocation. */
static __always_inline void take_allocation(struct pt_regs *regs, const struct pending *pending,
					    uint64_t address)
{
	struct taking taking = {.weight = pending->bytes,
				.events = pending->objects,
				.part = PART_ALL,
				.leaf = pending->entry};
	struct allocation given = {.time_ns = bpf_ktime_get_ns(),
				   .bytes = pending->bytes,
				   .objects = pending->objects};
	uint64_t id = bpf_get_current_pid_tgid();
	uint32_t tgid = id >> 32, weight = pending->weight;
	const struct target_value *target = bpf_map_lookup_elem(&targets, &tgid);
	struct target_value wanted;

	if (!is_wanted(target))
		return;
	wanted = *target;
	given.tid = id;
	if (take_stack_as(regs, regs, &wanted, PROBE_MEM_GLIBC, &taking, &given.stack))
		hold_allocation(address, tgid, &given);
	guard_account(PROBE_MEM_GLIBC, weight, given.time_ns);
}

/* Handles the return of a call that may be awaited. Before sessions every return comes here, also
 * of other calls. */
static __always_inline void call_returns(struct pt_regs *regs)
{
	struct pending *pending = pending_find();
	uint64_t sp = PT_REGS_SP(regs), address;
	bool is_its = pending && pending->sp == sp;
	bool lets_go = pending && pending->old_sp == sp;

	if (has_sessions || is_its || lets_go)
		count_under_way(sp, -1);
	if (!is_its && !lets_go)
		return;
	address = address_given(regs, pending, is_its);
	if (lets_go && !address)
		hold_allocation(pending->old_address, bpf_get_current_pid_tgid() >> 32,
				&pending->old);
	if (is_its && address && pending->bytes)
		take_allocation(regs, pending, address);
	if (is_its)
		pending->sp = 0;
	if (lets_go)
		pending->old_sp = 0;
	pending_end(pending);
}

SEC("uprobe")
int on_return(struct pt_regs *ctx)
{
	hand_over(ctx, &return_slot);
	if (*under_way_of(PT_REGS_SP(ctx)))
		call_returns(ctx);
	return 0;
}

/* Returns whether the limit leaves no or little room. */
static __always_inline bool is_beyond(const struct rlimit *limit, uint64_t pages, uint64_t size)
{
	uint64_t most = BPF_CORE_READ(limit, rlim_cur);

	return size + NEW_ROOM > most || pages * PAGE_BYTES > most - size - NEW_ROOM;
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

static __always_inline int on_call(struct pt_regs *ctx, uint32_t call)
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

CALL_PROGRAM(on_size, CALL_SIZE)
CALL_PROGRAM(on_new, CALL_NEW)
CALL_PROGRAM(on_count, CALL_COUNT)
CALL_PROGRAM(on_aligned, CALL_ALIGNED)
CALL_PROGRAM(on_realloc, CALL_REALLOC)

/* Program for points of realloc() without cookies, where realloc() without an address is
 * malloc(). */
SEC("uprobe")
int on_realloc_alone(struct pt_regs *ctx)
{
	return PT_REGS_PARM1(ctx) ? on_call(ctx, CALL_REALLOC) : NO_RETURN;
}

CALL_PROGRAM(on_realloc_count, CALL_REALLOC_COUNT)
CALL_PROGRAM(on_posix_memalign, CALL_POSIX_MEMALIGN)

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

char LICENSE[] SEC("license") = "GPL";
