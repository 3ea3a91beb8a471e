// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Iterator over threads that wait and have no stack: they left their CPU before anybody looked, or
 * were not drawn (bpf/core/guard.h). The program takes their stacks from outside. Needs sleepable
 * iterators (Linux 5.18).
 */
#define WALKS_OTHERS
#include "bpf/core/task.h"
#include "bpf/stack/stack.h"

struct sched_settings sched;

#define STEPS_MAX    (USER_FRAMES_MAX * 4)
#define PYTHON_READS 5 /* reads of one step (a frame, its code, two names), and the step */

/* Copy of all that a step changes; the last word may get another kind. */
struct {
	uint64_t pc, sp, fp, bx, context, unsure_hash, hash, word;
	uint32_t known, unsure, words_count, truncated, unsure_details, details;
	uint32_t callee, pushed;
	uint64_t blob[sizeof(struct hotspot_blob) / 8];
} before;

uint32_t next_copy;

int step_save(uint32_t level);
int step_undo(uint32_t level);
int copies_forget(uint32_t level);

__noinline int step_save(uint32_t level)
{
	struct walk *walk = walk_at(level);
	uint32_t last;

	if (!walk)
		return 0;
	before.pc = walk->pc;
	before.sp = walk->sp;
	before.fp = walk->fp;
	before.bx = walk->bx;
	before.context = walk->context;
	before.unsure_hash = walk->unsure_hash;
	before.hash = walk->head.key.hash;
	before.known = walk->known;
	before.unsure = walk->unsure;
	before.words_count = walk->head.words_count;
	before.truncated = walk->head.truncated;
	before.unsure_details = walk->unsure_details;
	before.details = walk->hotspot.details;
	before.callee = walk->hotspot.callee;
	before.pushed = walk->hotspot.pushed;
	__builtin_memcpy(before.blob, &walk->hotspot.blob, sizeof(before.blob));
	last = walk->head.words_count - 1;
	if (last < NATIVE_WORDS_MAX)
		before.word = walk->words[last];
	return 0;
}

__noinline int step_undo(uint32_t level)
{
	struct walk *walk = walk_at(level);
	uint32_t last;

	if (!walk)
		return 0;
	walk->pc = before.pc;
	walk->sp = before.sp;
	walk->fp = before.fp;
	walk->bx = before.bx;
	walk->context = before.context;
	walk->unsure_hash = before.unsure_hash;
	walk->head.key.hash = before.hash;
	walk->known = before.known;
	walk->unsure = before.unsure;
	walk->head.words_count = before.words_count;
	walk->head.truncated = before.truncated;
	walk->unsure_details = before.unsure_details;
	walk->hotspot.details = before.details;
	walk->hotspot.callee = before.callee;
	walk->hotspot.pushed = before.pushed;
	__builtin_memcpy(&walk->hotspot.blob, before.blob, sizeof(before.blob));
	last = before.words_count - 1;
	if (last < NATIVE_WORDS_MAX)
		walk->words[last] = before.word;
	walk->span.start = walk->span.end = 0; /* the step may have changed the span */
	span_search(level, walk->pc - !(walk->known & WALK_EXACT));
	return 0;
}

__noinline int copies_forget(uint32_t level)
{
	for (uint32_t i = 0; i < COPIES; i++) {
		uint32_t number = i;
		struct copy *copy = bpf_map_lookup_elem(&copies, &number);

		if (copy)
			copy->bytes = 0;
	}
	return level;
}

/* Copies the memory that the step asked for. */
static __always_inline void copy_missing(struct task_struct *task)
{
	uint32_t number = next_copy++ & (COPIES - 1);
	struct copy *copy = bpf_map_lookup_elem(&copies, &number);
	uint32_t bytes = missing.bytes;

	if (!copy || !bytes || bytes > COPY_BYTES_MAX)
		return;
	copy->from = missing.from;
	copy->bytes = bytes;
	copy->error =
		bpf_copy_from_user_task(copy->data, bytes, (const void *)missing.from, task, 0);
}

struct stepping {
	struct task_struct *task;
	bool goes_on;
};

/* Does the first step. Returns 1 if it is done, 0 if it has to be done again. */
static long first_step(uint32_t number, void *arg)
{
	struct stepping *stepping = arg;
	struct walk *walk = walk_at(0);

	if (!walk)
		return 1;
	step_save(0);
	missing.bytes = 0;
	stepping->goes_on = unwind_leaf(walk);
	if (!missing.bytes)
		return 1;
	step_undo(0);
	copy_missing(stepping->task);
	return 0;
}

/* Does a step. Returns 1 if the walk has ended. */
static long walk_step(uint32_t number, void *arg)
{
	const struct stepping *stepping = arg;
	struct walk *walk = walk_at(0);
	int ended;

	if (!walk)
		return 1;
	step_save(0);
	missing.bytes = 0;
	ended = unwind_step(0);
	if (missing.bytes) {
		step_undo(0);
		copy_missing(stepping->task);
		return 0;
	}
	return ended || --walk->frames_max == 0;
}

/* Does a step through Python's frames. Returns 1 if the walk has ended. */
static long python_next(uint32_t number, void *arg)
{
	const struct stepping *stepping = arg;
	struct walk *walk = walk_at(0);
	int r;

	if (!walk)
		return 1;
	missing.bytes = 0;
	r = python_step(0);
	if (missing.bytes) {
		copy_missing(stepping->task);
		return 0;
	}
	walk->head.python = r == PYTHON_ON ? PYTHON_SEARCHED : r;
	return r != PYTHON_ON;
}

static __always_inline void walk_python(struct task_struct *task)
{
	struct stepping stepping = {.task = task};

	if (python_begin(0))
		bpf_loop(PYTHON_STEPS_MAX * PYTHON_READS, python_next, &stepping, 0);
}

/* Walks the user's frames of a walk that has begun. */
static __always_inline void walk_on(struct walk *walk, struct task_struct *task)
{
	struct stepping stepping = {.task = task};

	bpf_loop(STEPS_MAX, first_step, &stepping, 0);
	if (stepping.goes_on)
		bpf_loop(STEPS_MAX, walk_step, &stepping, 0);
}

static __always_inline bool user_regs_of(struct walk *walk, struct task_struct *task)
{
	const void *at;

	if (!task->mm) {
		walk->head.truncated = TRUNCATED_EXITING;
		return false;
	}
	if (bpf_core_field_exists(task->in_execve) &&
	    BPF_CORE_READ_BITFIELD_PROBED(task, in_execve)) {
		walk->head.truncated = TRUNCATED_EXEC;
		return false;
	}
	at = (const void *)bpf_task_pt_regs(task);
	if (bpf_probe_read_kernel(walk->saved, sizeof(struct pt_regs), at)) {
		walk->head.truncated = TRUNCATED_MEMORY;
		return false;
	}
	regs_take(&walk->user, (const struct pt_regs *)walk->saved);
	return true;
}

static __always_inline void walk_task(struct walk *walk, struct task_struct *task, uint64_t seed)
{
	long bytes = bpf_get_task_stack(task, walk->kernel, sizeof(walk->kernel), 0);
	uint64_t kernel_hash;

	push_kernel_frames(walk, bytes);
	kernel_hash = walk->head.key.hash;
	if (walk->head.truncated == TRUNCATED_NOT && user_regs_of(walk, task)) {
		if (unwind_begin(walk->level)) {
			walk->head.key.hash = seed;
			if (python_of(walk) && !hotspot_of(walk))
				walk_python(task);
			walk_on(walk, task);
		} else {
			walk->head.truncated = TRUNCATED_NARROW;
			walk_push(walk, FRAME_NATIVE, walk->user.pc);
		}
	}
	hash_stack(walk, kernel_hash, walk->head.key.hash);
}

/* Returns whether the stack was taken when its Python or its Java was known, as far as this program
 * walks them. */
static __always_inline bool has_walked(const struct thread_record *record,
				       const struct target_value *target)
{
	return (!(walks_runtimes & WALKS_PYTHON) || !target->python ||
		record->python == target->python) &&
	       (!(walks_runtimes & WALKS_JAVA) || !target->hotspot ||
		record->hotspot == target->hotspot);
}

/* Returns whether the wait has a stack that will stay, or had a stack that was lost. A stack that
 * was taken before its Python or its Java was found won't stay, nor a truncated one that may be
 * mended. */
static __always_inline bool is_seen(struct task_struct *task, const struct target_value *target,
				    uint64_t switches)
{
	const struct thread_record *record = record_find(task);

	return record && record->session == sched.session && record->switches == switches &&
	       record->left_ns >= sched.wait_since_ns &&
	       ((record->weight && record->stack == WAIT_STACK_TAKEN &&
		 !is_mendable(record, target) && has_walked(record, target)) ||
		record->stack == WAIT_STACK_LOST);
}

static __always_inline void set_record(struct task_struct *task, const struct walk *walk,
				       const struct target_value *target, uint64_t switches)
{
	struct thread_record *record = record_make(task);

	if (!record)
		return;
	record_begin(record, &sched);
	if (record->left_ns < sched.wait_since_ns || record->switches != switches) {
		record->left_ns = walk->head.time_ns;
		record->looked_at = 1;
		record->queued_ns = 0;
		record->shown_ns = 0;
		record->state = wait_state_of(task_state(task));
	}
	if (!record->weight)
		mark_open(walk->tid, 1);
	record->key = walk->head.key;
	record->window = walk->head.window;
	record->cpu = CPU_ANY;
	record->switches = switches;
	record->stack = WAIT_STACK_TAKEN;
	record->pending = pending_of(walk->head.truncated, target->spans_number);
	record->python = walk->python_at;
	record->hotspot = walk->hotspot_at;
	if (!record->weight)
		record->weight = 1;
}

SEC("iter.s/task")
int walk_waiting(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct taking taking = {.events = 1, .cpu = CPU_ANY};
	const struct target_value *target;
	const struct control *settings;
	struct walk *walk = walk_at(0);
	uint32_t zero = 0;
	uint64_t switches, state;

	if (!task || !walk)
		return 0;
	target = waiting_target(task, &sched, PROBE_OFFCPU);
	settings = bpf_map_lookup_elem(&control, &zero);
	if (!target || !settings)
		return 0;
	switches = task_switches(task);
	state = task_state(task);
	if (is_seen(task, target, switches))
		return 0;
	walk->level = 0;
	walk->frames_max = sched.wait_depth;
	walk->task = (uint64_t)task;
	walk->tid = task->pid;
	walk->head.key.tgid = task->tgid;
	bpf_probe_read_kernel(walk->head.comm, sizeof(walk->head.comm), task->comm);
	walk_begin(walk, settings, target, PROBE_OFFCPU, BPF_CORE_READ(task, mm, exec_vm));
	walk->head.time_ns = bpf_ktime_get_ns();
	copies_forget(0);
	walk_task(walk, task, settings->hash_seed);
	/* The task may have gone on meanwhile: then what was read is no stack. */
	if (task->on_cpu || task_switches(task) != switches || task_state(task) != state)
		return 0;
	if ((take_known(walk, &taking) || take_new(walk, &taking)) &&
	    settings->window == walk->head.window)
		set_record(task, walk, target, switches);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
