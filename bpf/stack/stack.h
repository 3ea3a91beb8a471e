/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an event to a counted stack:
 *
 *	walk kernel, Python and user -> hash -> known in this window? add to its count
 *				     -> new: send the frames; accepted? begin its count
 *
 * A stack is known when its frames were sent in this window; counts are apart for each thread.
 */
#pragma once

#include "bpf/core/count.h"
#include "bpf/python/python.h"
#include "bpf/stack/unwind.h"
#include "bpf/stack/wakeup.h"
#ifdef WALKS_AT_SWITCHES
#include "bpf/unwind/kernel_memo.h"
#endif

int send_new(uint32_t level, uint64_t events);
int push_kernel(uint32_t level, uint32_t first, uint32_t count, uint32_t kind);

/* Appends Python's words or Java's details, from where they wait, to the native words. (The kernel
 * copies upwards, so the two places may overlap.) */
static __always_inline bool append_words(struct walk *walk)
{
	uint32_t native = walk->head.words_count, count = walk->python.words_count;

	if (hotspot_of(walk))
		count = walk->hotspot.details;
	if (!count)
		return true;
	if (native > NATIVE_WORDS_MAX || count > PYTHON_WORDS_MAX ||
	    bpf_probe_read_kernel(&walk->words[native], count * sizeof(uint64_t),
				  &walk->words[PYTHON_AT]))
		return false;
	walk->head.words_count = native + count;
	return true;
}

static __always_inline bool send_stack(struct walk *walk)
{
	uint64_t now_ns = bpf_ktime_get_ns();
	uint64_t flag = wake_flag(walk, now_ns), bytes;

	walk->head.time_ns = now_ns;
	if (!append_words(walk))
		return false;
	vma_tell(walk);
	bytes = sizeof(walk->head) + walk->head.words_count * sizeof(uint64_t);
	if (bytes > sizeof(walk->head) + sizeof(walk->words))
		return false;
	if (bpf_ringbuf_output(&stacks, &walk->head, bytes, flag))
		return false;
	if (walk->hurry && flag == BPF_RB_FORCE_WAKEUP)
		set_told(walk);
	return true;
}

/*
 * What is done with the stack of a walk: its frames are made known, and its count is added to. A
 * probe that learns the weight later (off-CPU) takes the stack with the weight 0, and counts it
 * then (bpf/sched/wait.h).
 */

static __always_inline bool is_sent(const struct walk *walk)
{
	const struct stack_key *key = &walk->head.key;

	return walk->head.window & 1 ? bpf_map_lookup_elem(&sent_odd, key) != NULL
				     : bpf_map_lookup_elem(&sent_even, key) != NULL;
}

/* Marks the stack as sent. (Two CPUs may both send a new stack.) */
static __always_inline bool set_sent(const struct walk *walk)
{
	const struct stack_key *key = &walk->head.key;
	uint32_t one = 1;

	return !(walk->head.window & 1 ? bpf_map_update_elem(&sent_odd, key, &one, BPF_ANY)
				       : bpf_map_update_elem(&sent_even, key, &one, BPF_ANY));
}

/* How a stack is to be taken. */
struct taking {
	uint64_t weight; /* weight of the stack; 0: the stack is counted later */
	uint64_t events; /* events that the stack stands for, and that are lost without it */
	uint32_t cpu;	 /* CPU in the counts; CPU_ANY: not counted apart */
	uint32_t part;	 /* struct count_key.part */
	/* Address in user code of a leaf frame that the frame of `regs` called; `regs` are the
	 * registers right after the leaf's return. 0: no such leaf. */
	uint64_t leaf;
	bool user_only; /* the kernel's frames are left out: there, `regs` is NULL */
	/* What came of it: */
	uint64_t window;   /* window that has the stack, if it was taken */
	uint64_t until_ns; /* until when it took (bpf/stack/probe_take.h); 0: not known */
};

static __always_inline bool count_taken(const struct walk *walk, const struct taking *taking,
					bool begin)
{
	struct count_key key = {.stack = walk->head.key,
				.tid = walk->tid,
				.cpu = taking->cpu,
				.part = taking->part};
	struct stack_count one = {.weight = taking->weight, .samples = 1, .events = taking->events};

	if (!begin && !(walk->head.window & 1 ? count_known(&counts_odd, &key, &one)
					      : count_known(&counts_even, &key, &one)))
		return false;
	if (begin && !add_count(walk->head.window, &key, &one))
		return true;
	count_sample(walk->head.key.probe);
	return true;
}

/* Counts the stack, if it was counted or at least sent in this window before. Returns false
 * otherwise. */
static __always_inline bool take_known(const struct walk *walk, const struct taking *taking)
{
	if (taking->weight && count_taken(walk, taking, false))
		return true;
	if (!is_sent(walk))
		return false;
	if (taking->weight)
		count_taken(walk, taking, true);
	return true;
}

/* Sends the stack, which stands for so many events. Returns 0 if it is lost, which is counted. A
 * global function, so the verifier checks it once. */
__noinline int send_new(uint32_t level, uint64_t events)
{
	struct walk *walk = walk_at(level);

	if (!walk)
		return 0;
	if (!send_stack(walk)) {
		count_loss(LOST_RING_FULL, walk->head.key.probe, events);
		return 0;
	}
	if (!set_sent(walk)) {
		count_loss(LOST_SENT_FULL, walk->head.key.probe, events);
		return 0;
	}
	return 1;
}

/* Sends the stack and counts it. Returns false if the stack is lost, which is counted. */
static __always_inline bool take_new(const struct walk *walk, const struct taking *taking)
{
	if (!send_new(walk->level, taking->events))
		return false;
	if (taking->weight)
		count_taken(walk, taking, true);
	return true;
}

/* kernel.perf_event_max_stack, up to KERNEL_FRAMES_MAX: a walk of that many frames was
 * truncated. */
const volatile uint32_t kernel_frames_max = KERNEL_FRAMES_MAX;

/* Kernels before 5.15 have no bpf_task_pt_regs(). */
const volatile bool has_task_pt_regs = true;

#define KERNEL_RUN 32 /* frames that one call of push_kernel() pushes; a power of two */

_Static_assert((KERNEL_FRAMES_MAX + 1) % KERNEL_RUN == 0, "there is room for whole runs");

/* Pushes a run of the first `count` frames of walk->kernel, from frame `first` on, which is of that
 * kind. A global function, so the verifier checks it once; and it checks each turn of a loop, so
 * frames are pushed in runs. (Few stacks have more than one.) */
__noinline int push_kernel(uint32_t level, uint32_t first, uint32_t count, uint32_t kind)
{
	struct walk *walk = walk_at(level);
	uint64_t hash;

	first &= KERNEL_FRAMES_MAX - (KERNEL_RUN - 1);
	if (!walk)
		return 0;
	hash = walk->head.key.hash;
	for (uint32_t i = 0; i < KERNEL_RUN && first + i < count; i++) {
		uint64_t word = frame_word(kind, walk->kernel[first + i]);

		walk->words[first + i] = word;
		hash = hash_word(hash, word);
		kind = FRAME_KERNEL_RETURN;
	}
	walk->head.key.hash = hash;
	return 0;
}

/* Pushes the frames in walk->kernel (`bytes`, or an error); nothing was pushed before. */
static __always_inline void push_kernel_frames(struct walk *walk, long bytes)
{
	uint64_t count = bytes / sizeof(uint64_t);

	if (bytes > 0 && count <= KERNEL_FRAMES_MAX) {
		push_kernel(walk->level, 0, count, FRAME_KERNEL);
		for (uint32_t i = KERNEL_RUN; i < KERNEL_FRAMES_MAX && i < count; i += KERNEL_RUN)
			push_kernel(walk->level, i, count, FRAME_KERNEL_RETURN);
		walk->head.words_count = count;
	}
	if (bytes >= kernel_frames_max * (long)sizeof(uint64_t))
		walk->head.truncated = TRUNCATED_DEPTH;
}

/* Walks the kernel stack and pushes its frames. */
static __always_inline void walk_kernel(struct walk *walk, void *ctx)
{
	push_kernel_frames(walk, bpf_get_stack(ctx, walk->kernel, sizeof(walk->kernel), 0));
}

/* Like walk_kernel(), but at a switch, where the frames of the last walks are known. */
static __always_inline void walk_kernel_at_switch(struct walk *walk, void *ctx)
{
#ifdef WALKS_AT_SWITCHES
	if (has_task_pt_regs) {
		walk->kernel_from = (uint64_t)ctx;
		walk->kernel_to = (uint64_t)bpf_task_pt_regs(bpf_get_current_task_btf());
		if (kernel_is_known(walk->level))
			return;
		walk_kernel(walk, ctx);
		if (walk->head.truncated != TRUNCATED_DEPTH)
			kernel_learn(walk->level);
		return;
	}
#endif
	walk_kernel(walk, ctx);
}

_Static_assert(sizeof(struct pt_regs) <= sizeof(((struct walk *)0)->saved), "they have room");

/* State of the current task that decides on the user's half of its stack. */
struct task_half {
	const void *regs; /* where the kernel saved the user's registers */
	uint32_t flags;
	bool has_memory, in_execve;
};

/* Reads that state. Where the task is typed, its fields are plain loads; each load saves a call of
 * a helper. */
static __always_inline void look_at_task(struct task_half *half)
{
	struct task_struct *task;

	half->in_execve = false;
	if (has_task_pt_regs) {
		task = bpf_get_current_task_btf();
		half->flags = task->flags;
		half->has_memory = task->mm;
		if (bpf_core_field_exists(task->in_execve))
			half->in_execve = BPF_CORE_READ_BITFIELD(task, in_execve);
		half->regs = (const void *)bpf_task_pt_regs(task);
		return;
	}
	task = (void *)bpf_get_current_task();
	half->flags = BPF_CORE_READ(task, flags);
	half->has_memory = BPF_CORE_READ(task, mm);
	if (bpf_core_field_exists(task->in_execve))
		half->in_execve = BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
	half->regs = BPF_CORE_READ(task, stack) + THREAD_BYTES - SAVED_REGS_BYTES;
}

/*
 * Reads the user registers of the current task, which is in the kernel now. Returns false if the
 * task has no user half that can be walked; head.truncated tells why (TRUNCATED_NOT: a thread
 * that never runs user code).
 */
static __always_inline bool saved_user_regs(struct walk *walk, struct user_regs *regs)
{
	struct task_half half;

	look_at_task(&half);
	if (half.flags & (PF_KTHREAD | PF_IO_WORKER))
		return false;
	if (!half.has_memory) {
		walk->head.truncated = TRUNCATED_EXITING;
		return false;
	}
	if (half.in_execve) {
		walk->head.truncated = TRUNCATED_EXEC;
		return false;
	}
	if (bpf_probe_read_kernel(walk->saved, sizeof(struct pt_regs), half.regs)) {
		walk->head.truncated = TRUNCATED_MEMORY;
		return false;
	}
	regs_take(regs, (const struct pt_regs *)walk->saved);
	return true;
}

/* Pushes the kernel frames, and reads the user registers. Returns false if there is no user half.
 * `regs` NULL: the task is in the kernel, at a switch. */
static __always_inline bool begin_stack(void *ctx, struct walk *walk, const struct pt_regs *regs,
					struct user_regs *user, const struct taking *taking)
{
	bool has_user;

	if (taking->leaf)
		walk_push(walk, FRAME_NATIVE, taking->leaf);
	if (regs && regs_are_user(regs)) {
		regs_take(user, regs);
		return true;
	}
	if (regs) {
		walk_kernel(walk, ctx);
		return walk->head.truncated == TRUNCATED_NOT && saved_user_regs(walk, user);
	}
	walk->user.pc = 0;
	has_user = saved_user_regs(walk, user);
	if (!taking->user_only)
		walk_kernel_at_switch(walk, ctx);
	return walk->head.truncated == TRUNCATED_NOT && has_user;
}

/* Computes the hash of the whole stack from the hashes of its halves and the other fields. */
static __always_inline void hash_stack(struct walk *walk, uint64_t kernel_hash, uint64_t user_hash)
{
	uint64_t hash = hash_word(kernel_hash, user_hash);

	hash = hash_word(hash, walk->python.hash);
	hash = hash_word(hash, walk->head.python);
	hash = hash_word(hash, walk->head.target_id);
	hash = hash_word(hash, walk->head.truncated);
	/* A stack that is truncated at the same frame as before, but with other mappings known,
	 * gets another hash and is sent again: the daemon has to read the maps again. */
	if (walk->head.truncated != TRUNCATED_NOT)
		hash = hash_word(hash, walk->spans);
	hash = hash_word(hash, *(uint64_t *)walk->head.comm);
	walk->head.key.hash = hash_word(hash, *(uint64_t *)(walk->head.comm + 8));
}

/* Takes the thread's last stack again, if it can't have changed and was sent in this window.
 * Returns false otherwise. */
static __always_inline bool take_again(struct walk *walk, uint64_t kernel_hash,
				       const struct taking *taking)
{
	const struct memo *memo = memo_at(walk->memo);

	if (!memo || !walk->spans_count || !unwind_is_known(walk->level))
		return false;
	walk->head.truncated = memo->truncated;
	hash_stack(walk, kernel_hash, memo->user_hash);
	return take_known(walk, taking);
}

/* Walks a stack into `walk`, and sends and counts it. Returns false if the stack is lost. */
static __always_inline bool take_into(void *ctx, struct walk *walk, const struct pt_regs *regs,
				      const struct taking *taking)
{
	uint64_t seed = walk->head.key.hash, kernel_hash;
	struct user_regs *user = &walk->user;
	bool has_user = begin_stack(ctx, walk, regs, user, taking);

	kernel_hash = walk->head.key.hash;
	if (has_user && unwind_begin(walk->level)) {
		if (taking->leaf)
			walk->known &= ~WALK_EXACT;
		if (python_of(walk) && !hotspot_of(walk))
			python_user(walk->level);
		if (take_again(walk, kernel_hash, taking))
			return true;
		walk->head.key.hash = seed;
		unwind_user(walk);
	} else if (has_user) {
		walk->head.truncated = TRUNCATED_NARROW;
		walk_push(walk, FRAME_NATIVE, user->pc);
	}
	hash_stack(walk, kernel_hash, walk->head.key.hash);
	return take_known(walk, taking) || take_new(walk, taking);
}

/* Returns the CPU in the counts of a probe, or CPU_ANY. */
static __always_inline uint32_t counted_cpu(const struct control *settings, uint32_t probe)
{
	return settings->by_cpu & 1U << probe ? bpf_get_smp_processor_id() : CPU_ANY;
}

/* Says which runtimes of the process are walked. (One with both has Java's frames.) */
static __always_inline void begin_runtimes(struct walk *walk, const struct target_value *target)
{
	uint32_t left_out = WALKS_ALL & ~walks_runtimes;

	walk->python_at = left_out & WALKS_PYTHON ? 0 : target->python;
	walk->hotspot_at = left_out & WALKS_JAVA ? 0 : target->hotspot;
	walk->head.python = PYTHON_NONE;
	walk->pending = 0;
	if (left_out & WALKS_JAVA && target->hotspot)
		walk->pending = WALKS_JAVA;
	else if (left_out & WALKS_PYTHON && target->python && !target->hotspot)
		walk->head.python = PYTHON_PENDING;
}

/* Begins the stack of a task in `walk`. walk->tid, head.key.tgid and head.comm have to be set
 * before. `exec_pages` is the task's mm->exec_vm. */
static __always_inline void walk_begin(struct walk *walk, const struct control *settings,
				       const struct target_value *target, uint32_t probe,
				       uint64_t exec_pages)
{
	walk->spans = target->spans;
	walk->spans_count = target->spans_count;
#ifndef WALKS_OTHERS /* its steps may be undone, so results aren't kept */
	walk->spans_number = target->spans_number;
#endif
	begin_runtimes(walk, target);
	walk->told = 0;
	walk->hotspot.details = 0;
	walk->python.hash = walk->python.words_count = walk->python.flags = 0;
	walk->head.key.hash = settings->hash_seed;
	walk->head.key.probe = probe;
	walk->head.target_id = target->id;
	walk->head.window = settings->window;
	walk->head.words_count = 0;
	walk->head.truncated = TRUNCATED_NOT;
	walk->head.exec_pages = exec_pages;
	walk->hurry = hurry_of(target, exec_pages);
}

static __always_inline uint64_t current_exec_pages(void)
{
	struct task_struct *task;

	if (has_task_pt_regs)
		return bpf_get_current_task_btf()->mm->exec_vm;
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, mm, exec_vm);
}

/* Begins the stack of the current task. */
static __always_inline void walk_begin_current(struct walk *walk, const struct control *settings,
					       const struct target_value *target, uint32_t probe)
{
	uint64_t id = bpf_get_current_pid_tgid();

	walk->tid = id;
	walk->head.key.tgid = id >> 32;
	bpf_get_current_comm(walk->head.comm, sizeof(walk->head.comm));
	walk_begin(walk, settings, target, probe, current_exec_pages());
}

/* Takes a buffer for a walk, which walk_give_back() returns. NULL: there is none, and `weight` is
 * counted as lost. */
static __always_inline struct walk *walk_for(uint32_t probe, uint64_t weight)
{
	int level = walk_take(probe, weight);
	struct walk *walk = level < 0 ? NULL : walk_at(level);

	if (walk)
		walk->level = level;
	return walk;
}

/* Takes the current task's stack. `regs` are the interrupted registers, `target` is the entry of
 * the process; `taking` gets its `cpu` and `window` here. Returns whether the stack was taken; *key
 * is its key. */
static __always_inline bool take_stack_as(void *ctx, const struct pt_regs *regs,
					  const struct target_value *target, uint32_t probe,
					  struct taking *taking, struct stack_key *key)
{
	uint32_t zero = 0;
	struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct walk *walk = settings ? walk_for(probe, taking->events) : NULL;
	bool taken;

	if (!walk)
		return false;
	walk->frames_max = USER_FRAMES_MAX;
	walk_begin_current(walk, settings, target, probe);
	taking->cpu = counted_cpu(settings, probe);
	taken = take_into(ctx, walk, regs, taking);
	*key = walk->head.key;
	taking->window = walk->head.window;
	walk_give_back(walk);
	return taken;
}
