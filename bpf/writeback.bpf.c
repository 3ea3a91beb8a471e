// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe writeback: the bytes of files that targets made dirty, and the time for which the
 * kernel made them wait, so that they don't make pages dirty faster than these are written.
 *
 *	a clean folio gets dirty -> by a target? -> drawn by its size? -> the stack, counted
 *
 *	the kernel plans a pause (balance_dirty_pages) -> of a target? -> the stack, remembered
 *	  -> the thread leaves its CPU in the state of that pause: begin
 *	  -> the thread is back: the time is counted for the stack
 */
#define GUARD_SKIPPED_NS 40ULL
#include "bpf/cache/folio.h"
#include "bpf/core/task.h"
#include "bpf/stack/probe_halves.h"

#define TASK_WAKEKILL 0x100 /* include/linux/sched.h */
#define TASK_KILLABLE (TASK_WAKEKILL | TASK_UNINTERRUPTIBLE)

#define PAGES_OF_SIZE 16 /* the guard prefers large folios, for few stand for much */

/* Set before loading. */
const volatile uint32_t page_bytes = 4096;
const volatile bool has_long_arguments = false; /* balance_dirty_pages has twelve, else eight */
const volatile bool has_switch_state = false;	/* sched_switch has the state (since 5.18) */

/* Threads whose pause is planned or goes on. */
int64_t paused_count;

static __always_inline int take_dirty(void *ctx, const void *folio)
{
	const struct target_value *target = probe_target(PROBE_WRITEBACK);
	struct taking taking = {.part = PART_ALL};
	struct stack_key key;
	uint64_t pages;
	bool second;

	if (!target)
		return 0;
	pages = folio_pages(folio);
	taking.events = guard_draws(PROBE_WRITEBACK,
				    pages / PAGES_OF_SIZE < GUARD_SIZE_MAX ? pages / PAGES_OF_SIZE
									   : GUARD_SIZE_MAX,
				    &second);
	if (!taking.events)
		return 0;
	taking.weight = pages * page_bytes * taking.events;
	probe_walk(ctx, PROBE_WRITEBACK, NULL, target, &taking, &key);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int on_dirty_folio(uint64_t *ctx)
{
	return take_dirty(ctx, (const void *)ctx[0]);
}

/* The name before Linux 5.18. */
SEC("tp_btf/writeback_dirty_page")
int on_dirty_page(uint64_t *ctx)
{
	return take_dirty(ctx, (const void *)ctx[0]);
}

/* What half_event.left says of a pause. */
enum pause_note {
	PAUSE_PLANNED, /* the thread has its CPU still */
	PAUSE_BEGUN,
};

/* Returns the pause that the kernel plans, in ticks; 0 and less: none. (The compiler must not
 * compute which argument is read: the verifier wants constants.) */
static __always_inline int64_t planned_pause(const uint64_t *ctx)
{
	int64_t pause;

	if (has_long_arguments) {
		pause = ctx[10];
		asm volatile("" : "+r"(pause));
		return pause;
	}
	pause = ctx[6];
	asm volatile("" : "+r"(pause));
	return pause;
}

/* Takes a pause out of the map. Returns false if there is none. */
static __always_inline bool take_pause(uint32_t tid, struct half_event *pause)
{
	if (!half_end(PROBE_WRITEBACK, tid, pause))
		return false;
	__sync_fetch_and_add(&paused_count, -1);
	return true;
}

/* Forgets a pause that was planned and isn't made. */
static __always_inline void forget_pause(uint32_t tid)
{
	uint32_t zero = 0;
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct half_event pause;

	if (settings && take_pause(tid, &pause) && pause.window == settings->window)
		half_waits(pause.window, &pause.key, -1);
}

/* Remembers the stack of the pause of the current thread. Pauses are few, so the guard leaves none
 * out. */
SEC("tp_btf/balance_dirty_pages")
int plan_pause(uint64_t *ctx)
{
	struct half_key key = {.number = (uint32_t)bpf_get_current_pid_tgid(),
			       .probe = PROBE_WRITEBACK};
	struct taking taking = {.events = 1, .part = PART_SECOND};
	const struct target_value *target;
	struct half_event event = {.weight = 1, .left = PAUSE_PLANNED};

	if (planned_pause(ctx) <= 0)
		return 0;
	target = probe_target(PROBE_WRITEBACK);
	if (!target || !probe_walk(ctx, PROBE_WRITEBACK, NULL, target, &taking, &event.key.stack))
		return 0;
	event.key.tid = key.number;
	event.key.cpu = taking.cpu;
	event.key.part = taking.part;
	event.window = taking.window;
	event.began_ns = bpf_ktime_get_ns();
	if (paused_count)
		forget_pause(key.number);
	if (half_keep(&key, &event))
		__sync_fetch_and_add(&paused_count, 1);
	return 0;
}

/* Returns whether a thread that left its CPU by itself did so to pause. */
static __always_inline bool is_pause(const uint64_t *ctx, const struct task_struct *prev)
{
	uint64_t state;

	if (has_switch_state)
		return (uint32_t)ctx[3] == TASK_KILLABLE;
	state = task_state(prev);
	/* Where the state is read from the task, another CPU may be waking the task already. */
	return state == TASK_KILLABLE || (!has_switch_state && (!state || state & TASK_WAKING));
}

/* Begins the pause of a thread that leaves its CPU. (A thread that is preempted comes to its pause
 * later; one that waits in another way makes none: an asynchronous write only asks.) */
static __always_inline void leave_to_pause(const uint64_t *ctx, const struct task_struct *prev)
{
	struct half_key key = {.number = (uint32_t)prev->pid, .probe = PROBE_WRITEBACK};
	struct half_event *pause = bpf_map_lookup_elem(&halves, &key);

	if (!pause || pause->left != PAUSE_PLANNED)
		return;
	if (!is_pause(ctx, prev)) {
		forget_pause(key.number);
		return;
	}
	pause->began_ns = bpf_ktime_get_ns();
	pause->left = PAUSE_BEGUN;
}

static __always_inline void come_back(uint32_t tid)
{
	struct half_key key = {.number = tid, .probe = PROBE_WRITEBACK};
	const struct half_event *found = bpf_map_lookup_elem(&halves, &key);
	struct half_event pause;

	if (!found || found->left != PAUSE_BEGUN || !take_pause(tid, &pause))
		return;
	half_count(PROBE_WRITEBACK, &pause, bpf_ktime_get_ns() - pause.began_ns);
}

SEC("tp_btf/sched_switch")
int on_pause_switch(uint64_t *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];

	if (!paused_count)
		return 0;
	if (!ctx[0])
		leave_to_pause(ctx, prev);
	come_back(next->pid);
	return 0;
}

/* Forgets the pause of a thread that ends before it. */
SEC("raw_tp/sched_process_exit")
int end_paused(void *ctx)
{
	if (paused_count)
		forget_pause(bpf_get_current_pid_tgid());
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
