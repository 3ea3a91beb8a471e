/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From an event to a counted stack:
 *
 *	walk the kernel and the user -> hash -> known in this window? add to its count
 *				     -> new: send the frames; accepted? begin its count
 */
#pragma once

#include "unwind.h"

struct counts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct stack_key);
	__type(value, struct stack_count);
};
struct counts_map counts_even SEC(".maps");
struct counts_map counts_odd SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} stacks SEC(".maps");

/* The daemon is woken for new stacks, but not more often than this, and when a quarter of the ring
 * is full. It has to read the maps of a young process before that ends, above all where it hasn't
 * read any. (An id is the time of the exec.) */
#define WAKE_EVERY_NS	     20000000ULL
#define WAKE_EVERY_YOUNG_NS  2000000ULL
#define WAKE_EVERY_UNREAD_NS 500000ULL
#define YOUNG_NS	     200000000ULL

uint64_t last_wake_ns; /* a lost race costs one wake-up more */

static __always_inline uint64_t wake_flag(uint64_t now_ns, uint64_t target_id, bool unread)
{
	uint64_t every = now_ns - target_id < YOUNG_NS ? WAKE_EVERY_YOUNG_NS : WAKE_EVERY_NS;

	if (unread)
		every = WAKE_EVERY_UNREAD_NS;
	if (now_ns - last_wake_ns < every &&
	    bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) <
		    bpf_ringbuf_query(&stacks, BPF_RB_RING_SIZE) / 4)
		return BPF_RB_NO_WAKEUP;
	last_wake_ns = now_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/* The daemon reads its maps now. A stack without a user half came before there were any. */
static __always_inline void set_read(const struct walk *walk)
{
	uint32_t tgid = walk->head.key.tgid, last = walk->head.words_count - 1;
	struct target_value *target = bpf_map_lookup_elem(&targets, &tgid);

	if (target && target->id == walk->head.target_id && last < WORDS_MAX &&
	    walk->words[last] >> FRAME_KIND_SHIFT < FRAME_KERNEL)
		target->unread = 0;
}

static __always_inline bool send_stack(struct walk *walk, bool unread)
{
	uint64_t now_ns = bpf_ktime_get_ns();
	uint64_t bytes, flag;

	walk->head.time_ns = now_ns;
	bytes = sizeof(walk->head) + walk->head.words_count * sizeof(uint64_t);
	if (bytes > sizeof(walk->head) + sizeof(walk->words))
		return false;
	flag = wake_flag(now_ns, walk->head.target_id, unread);
	if (bpf_ringbuf_output(&stacks, &walk->head, bytes, flag))
		return false;
	if (unread && flag == BPF_RB_FORCE_WAKEUP)
		set_read(walk);
	return true;
}

/* Adds to the stack's count if it has one. Written out for each map, as what follows: the verifier
 * wants to know which one it is. */
static __always_inline bool count_known(void *counts, struct walk *walk, uint64_t weight)
{
	struct stack_count *known = bpf_map_lookup_elem(counts, &walk->head.key);

	if (!known)
		return false;
	__sync_fetch_and_add(&known->weight, weight);
	__sync_fetch_and_add(&known->samples, 1);
	count_sample(walk->head.key.probe);
	return true;
}

static __always_inline void count_in(void *counts, struct walk *walk, uint64_t weight, bool unread)
{
	struct stack_count first = {.weight = weight, .samples = 1};

	if (count_known(counts, walk, weight))
		return;
	if (!send_stack(walk, unread)) {
		count_loss(LOST_RING_FULL, weight);
		return;
	}
	if (bpf_map_update_elem(counts, &walk->head.key, &first, BPF_NOEXIST) == 0)
		count_sample(walk->head.key.probe);
	else if (!count_known(counts, walk, weight)) /* another CPU was faster, or it is full */
		count_loss(LOST_COUNTS_FULL, weight);
}

/* kernel.perf_event_max_stack, as far as there is room: a walk of that many frames was cut. */
const volatile uint32_t kernel_frames_max = KERNEL_FRAMES_MAX;

/* Kernels before 5.15 have no bpf_task_pt_regs(). */
const volatile bool has_task_pt_regs = true;

/* A function of its own, that the verifier looks at once. */
__noinline int push_kernel(uint32_t level, uint32_t number)
{
	struct walk *walk = walk_at(level);

	if (walk && number < KERNEL_FRAMES_MAX)
		walk_push(walk, number ? FRAME_KERNEL_RETURN : FRAME_KERNEL, walk->kernel[number]);
	return 0;
}

static __always_inline void walk_kernel(struct walk *walk, void *ctx)
{
	long bytes = bpf_get_stack(ctx, walk->kernel, sizeof(walk->kernel), 0);

	for (int i = 0; i < KERNEL_FRAMES_MAX; i++) {
		if (i * (long)sizeof(uint64_t) >= bytes)
			break;
		push_kernel(walk->level, i);
	}
	if (bytes >= kernel_frames_max * (long)sizeof(uint64_t))
		walk->head.truncated = TRUNCATED_DEPTH;
}

/*
 * The user registers of the current task, which is in the kernel now. False when it has no user
 * half that could be walked; then head.truncated tells why (TRUNCATED_NOT: a kernel thread).
 */
static __always_inline bool saved_user_regs(struct walk *walk, struct user_regs *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pt_regs saved;
	const void *at;

	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return false;
	if (!BPF_CORE_READ(task, mm)) {
		walk->head.truncated = TRUNCATED_EXITING;
		return false;
	}
	if (bpf_core_field_exists(task->in_execve) &&
	    BPF_CORE_READ_BITFIELD_PROBED(task, in_execve)) {
		walk->head.truncated = TRUNCATED_EXEC;
		return false;
	}
	if (has_task_pt_regs)
		at = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		at = BPF_CORE_READ(task, stack) + THREAD_BYTES - SAVED_REGS_BYTES;
	if (bpf_probe_read_kernel(&saved, sizeof(saved), at)) {
		walk->head.truncated = TRUNCATED_MEMORY;
		return false;
	}
	regs_take(regs, &saved);
	return true;
}

/* The user registers, after the kernel's frames. False: there is no user half. */
static __always_inline bool begin_stack(void *ctx, struct walk *walk, const struct pt_regs *regs,
					struct user_regs *user)
{
	if (regs_are_user(regs)) {
		regs_take(user, regs);
		return true;
	}
	walk_kernel(walk, ctx);
	return walk->head.truncated == TRUNCATED_NOT && saved_user_regs(walk, user);
}

/* The hash of the whole stack, of its two halves' and the rest. */
static __always_inline void hash_stack(struct walk *walk, uint64_t kernel_hash, uint64_t user_hash)
{
	uint64_t hash = hash_word(kernel_hash, user_hash);

	hash = hash_word(hash, walk->head.target_id);
	hash = hash_word(hash, walk->head.truncated);
	/* One that is cut where the same was cut before, with other mappings known, is sent again:
	 * the daemon has to look at the maps again. */
	if (walk->head.truncated != TRUNCATED_NOT)
		hash = hash_word(hash, walk->spans);
	hash = hash_word(hash, *(uint64_t *)walk->head.comm);
	walk->head.key.hash = hash_word(hash, *(uint64_t *)(walk->head.comm + 8));
}

static __always_inline bool count_if_known(struct walk *walk, uint64_t weight)
{
	return walk->head.window & 1 ? count_known(&counts_odd, walk, weight)
				     : count_known(&counts_even, walk, weight);
}

/* The same stack as the thread's last one, which was counted in this window. */
static __always_inline bool count_again(struct walk *walk, uint64_t kernel_hash, uint64_t weight)
{
	const struct memo *memo = memo_at(walk->memo);

	if (!memo || !unwind_is_known(walk->level))
		return false;
	walk->head.truncated = memo->truncated;
	hash_stack(walk, kernel_hash, memo->user_hash);
	return count_if_known(walk, weight);
}

static __always_inline void take_into(void *ctx, struct walk *walk, const struct pt_regs *regs,
				      uint64_t weight, bool unread)
{
	uint64_t seed = walk->head.key.hash, kernel_hash;
	struct user_regs *user = &walk->user;
	bool has_user = begin_stack(ctx, walk, regs, user);

	kernel_hash = walk->head.key.hash;
	if (has_user && unwind_begin(walk, user)) {
		if (count_again(walk, kernel_hash, weight))
			return;
		walk->head.key.hash = seed;
		unwind_user(walk);
	} else if (has_user) {
		walk->head.truncated = TRUNCATED_NARROW;
		walk_push(walk, FRAME_NATIVE, user->pc);
	}
	hash_stack(walk, kernel_hash, walk->head.key.hash);
	if (walk->head.window & 1)
		count_in(&counts_odd, walk, weight, unread);
	else
		count_in(&counts_even, walk, weight, unread);
}

/*
 * Takes the current task's stack, of which `regs` are the interrupted registers, and adds `weight`
 * to its count. `target` is its process's entry.
 */
static __always_inline void take_stack(void *ctx, const struct pt_regs *regs,
				       const struct target_value *target, uint32_t probe,
				       uint64_t weight)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	uint64_t id = bpf_get_current_pid_tgid();
	uint32_t zero = 0;
	struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct walk *walk;
	int level;

	if (!settings)
		return;
	level = walk_take(weight);
	if (level < 0)
		return;
	walk = walk_at(level);
	if (!walk)
		return;
	walk->level = level;
	walk->tid = id;
	walk->spans = target->spans;
	walk->spans_count = target->spans_count;
	walk->head.key.hash = settings->hash_seed;
	walk->head.key.tgid = id >> 32;
	walk->head.key.probe = probe;
	walk->head.target_id = target->id;
	walk->head.window = settings->window;
	walk->head.words_count = 0;
	walk->head.truncated = TRUNCATED_NOT;
	walk->head.exec_pages = BPF_CORE_READ(task, mm, exec_vm);
	bpf_get_current_comm(walk->head.comm, sizeof(walk->head.comm));
	take_into(ctx, walk, regs, weight, target->unread);
	walk_give_back(walk);
}
