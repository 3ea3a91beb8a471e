// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Switches and wake-ups of the scheduler, each seen once: where threads wait (offcpu.h), how long
 * they wait for a CPU and how long they have it (hists.h). `sched` switches off-CPU and the
 * histograms on.
 *
 *	runnable --switch--> on its CPU --switch--> waits --wake-up--> runnable
 *	                               \--switch--> runnable (preempted)
 *
 * At a switch the current task is still the task that leaves.
 */
#include "bpf/process/exited.h"
#include "bpf/sched/offcpu.h"
#include "bpf/sched/hists.h"
#include "bpf/core/task.h"
#include "bpf/stack/hand_over.h"

struct sched_settings sched;

HAND_OVER_SLOT(switch_slot);
HAND_OVER_SLOT(exit_slot);

int came_unseen(uint64_t now_ns);

/* Set before loading: the tracepoint has the state as a fourth argument (since 5.18). */
const volatile bool has_switch_state = true;

/*
 * Returns the state in which `prev` leaves. A preempted task may be in any state, but is still
 * queued. A task with a pending signal stays runnable: then the task's own state says so, the
 * argument doesn't. Another CPU may be waking the task already: then its own state is TASK_WAKING,
 * and the argument is the state before.
 */
static __always_inline uint32_t wait_state(uint64_t *ctx, struct task_struct *prev)
{
	uint64_t state = task_state(prev);

	if (ctx[0] || !state) /* preempt */
		return WAIT_RUNNABLE;
	if (has_switch_state)
		state = (uint32_t)ctx[3];
	else if (state == TASK_WAKING)
		state = TASK_INTERRUPTIBLE; /* most such tasks were; the state isn't kept */
	return wait_state_of(state);
}

/* Returns the target that a task belongs to; NULL: none. */
static __always_inline struct target_value *target_of(struct task_struct *task)
{
	uint32_t tgid = task->tgid;

	return bpf_map_lookup_elem(&targets, &tgid);
}

static __always_inline bool hists_want(const struct target_value *target)
{
	return sched.everybody || (target && target->probes & WANTED_SCHED);
}

static __always_inline bool offcpu_wants(const struct target_value *target,
					 const struct task_struct *task)
{
	return target_wants(target, PROBE_OFFCPU) && !(task->flags & PF_KTHREAD);
}

static __always_inline bool is_marked(const struct task_struct *task)
{
	const struct marks *all = marks_get();

	return !all || all->open[task->pid & (MARKS - 1)];
}

/* Returns the kernel's sum of the thread's waits for a CPU; 0 where it keeps none. */
static __always_inline uint64_t run_delay_ns(const struct task_struct *task)
{
	if (bpf_core_field_exists(task->sched_info.run_delay))
		return task->sched_info.run_delay;
	return 0;
}

/* Returns whether a new thread leaves its CPU for the first time, and nobody saw how it came. */
static __always_inline bool is_first_slice(const struct thread_record *record,
					   struct task_struct *task)
{
	return record->queued_ns && !record->came_ns && task_switches(task) == 1;
}

/* Counts how long the thread, which leaves its CPU, waited for it before. Nobody saw it woken, so
 * the kernel's sum tells it. */
static __always_inline void count_delay(struct task_struct *task, struct thread_record *record)
{
	uint64_t sum_ns = run_delay_ns(task);

	if (sum_ns > record->delay_ns)
		count_moment(RUNQ_ENDED, task, sum_ns - record->delay_ns, record->state,
			     record->came_ns);
}

/* Notes that a thread of interest leaves its CPU. `weight`: of its stack, if that is to be taken;
 * else 0. Returns the time, or 0 if a stack was taken since. */
static __always_inline uint64_t leave_seen(uint64_t *ctx, struct task_struct *prev,
					   struct target_value *target, uint32_t state,
					   uint32_t weight, uint32_t of_hists)
{
	uint64_t now_ns = bpf_ktime_get_ns(), came_ns;
	struct thread_record *record;

	state = forget_value(state, now_ns);
	weight = forget_value(weight, now_ns);
	of_hists = forget_value(of_hists, now_ns);
	record = record_make(prev);
	if (!record) {
		count_loss(LOST_RECORDS_FULL,
			   offcpu_wants(target, prev) ? PROBE_OFFCPU : LOSERS_SCHED, 1);
		return now_ns;
	}
	record_begin(record, &sched);
	if (record->left_ns || is_first_slice(record, prev))
		came_unseen(now_ns);
	came_ns = record->came_ns;
	if (record->woken_unseen && of_hists)
		count_delay(prev, record);
	record->delay_ns = run_delay_ns(prev);
	record->came_ns = 0;
	record->left_ns = now_ns;
	record->queued_ns = state == WAIT_RUNNABLE ? now_ns : 0;
	record->switches = task_switches(prev);
	record->state = state;
	record->shown_ns = 0;
	record->stack = WAIT_STACK_TAKEN;
	record->of_hists = of_hists;
	record->looked_at = 0;
	if (weight && target && wait_is_usually_short(prev)) {
		wait_begins_timed(prev, target, record, weight);
		weight = 0;
	} else if (weight && target) {
		wait_begins(ctx, target, record, weight);
	}
	if (of_hists && is_span(came_ns, now_ns))
		count_moment(SLICE_ENDED, prev, now_ns - came_ns, state, now_ns);
	if (state == WAIT_DEAD)
		record_drop(prev);
	return weight ? 0 : now_ns;
}

/* Returns whether the leaving task was wanted for histograms: a process's last thread is no
 * target's any more when it leaves its CPU for good. (What wasn't seen since they began may be of
 * others who were chosen before.) */
static __always_inline bool is_last(struct task_struct *task, uint32_t state)
{
	const struct thread_record *record = state == WAIT_DEAD ? record_find(task) : NULL;

	return record && record->session == sched.session && record->of_hists &&
	       (is_seen(record->left_ns) || is_seen(record->came_ns));
}

/* Notes that `prev` leaves its CPU. Returns the time, if the clock was read; else 0. */
static __always_inline uint64_t leave_cpu(uint64_t *ctx, struct task_struct *prev)
{
	uint32_t state = wait_state(ctx, prev), weight = 0;
	struct target_value *target;
	bool of_hists, timed = false;

	if (state == WAIT_DEAD)
		gone_add(prev, target_of(prev), record_find(prev));
	if (!sched.hists && is_marked(prev))
		came_unseen(bpf_ktime_get_ns());
	/* The cheapest check first: most waits may not be drawn. */
	if (sched.wait_states & 1U << state)
		weight = wait_draw(prev, &timed);
	if (timed && offcpu_wants(target_of(prev), prev))
		after_time(prev);
	if (!weight && !sched.hists)
		return 0;
	target = weight || !sched.everybody ? target_of(prev) : NULL;
	of_hists = sched.hists && (hists_want(target) || is_last(prev, state));
	if (weight && !offcpu_wants(target, prev))
		weight = 0;
	if (of_hists || weight)
		return leave_seen(ctx, prev, target, state, weight, of_hists);
	return 0;
}

/* Counts in the histograms that a thread comes to its CPU. */
static __always_inline void enter_hists(struct task_struct *next, struct thread_record *record,
					uint64_t now_ns)
{
	if (!record->looked_at && is_span(record->left_ns, now_ns) && record->state < WAIT_STATES)
		count_moment(ABSENCE_ENDED, next, now_ns - record->left_ns, record->state, now_ns);
	if (is_span(record->queued_ns, now_ns))
		count_moment(RUNQ_ENDED, next, now_ns - record->queued_ns, record->state, now_ns);
	/* Then it is counted when the thread leaves (count_delay()). */
	record->woken_unseen = !record->queued_ns && is_seen(record->left_ns);
}

/* Ends the wait of `next`, which stands for `waits` waits. The sum gets the wait after the record
 * says that there is none: a reader that reads the sum first (times.bpf.c) never counts the wait
 * twice. */
static __always_inline void end_wait(struct task_struct *next, struct thread_record *record,
				     uint64_t waits, uint64_t now_ns)
{
	uint64_t left_ns = record->left_ns;

	*(volatile uint64_t *)&record->left_ns = 0;
	if (left_ns && left_ns <= now_ns && record->switches == task_switches(next) &&
	    record->state < WAIT_STATES)
		record->waited_ns[record->state] += (now_ns - left_ns) * waits;
}

static __always_inline void come_to_cpu(struct task_struct *task, struct thread_record *record,
					uint64_t came_ns)
{
	bool of_hists = sched.hists && (sched.everybody || hists_want(target_of(task)));
	uint64_t waits = of_hists ? 1 : record->weight;

	if (of_hists)
		enter_hists(task, record, came_ns);
	else if (!is_seen(record->left_ns) && !is_seen(record->came_ns))
		record->of_hists = 0; /* others were chosen then */
	if (record->weight)
		wait_ends(task, record, came_ns);
	end_wait(task, record, waits, came_ns);
	record->queued_ns = 0;
	record->came_ns = came_ns;
}

static __always_inline void enter_cpu(struct task_struct *next, uint64_t now_ns)
{
	struct thread_record *record;

	if (sched.wait_states)
		after_timed(next);
	if (!sched.hists && !is_marked(next))
		return;
	record = record_find(next);
	if (record && record->session == sched.session)
		come_to_cpu(next, record, now_ns ? now_ns : bpf_ktime_get_ns());
}

/*
 * Handles that the current thread leaves its CPU and nobody saw how it came: some kernels call no
 * program while some tasks run (seen in virtual machines whose agent is shielded from tracing), at
 * a switch away from them or in an interrupt that wakes others. The fair scheduler tells how long
 * the thread ran; in other classes it is assumed that the thread came as soon as it could. (A
 * global function, so the verifier checks it once.)
 */
__noinline int came_unseen(uint64_t now_ns)
{
	struct task_struct *task;
	struct thread_record *record;
	uint64_t ran_ns, least_ns;

	if (!has_task_storage) /* a kernel that old lacks the next call, too */
		return 0;
	task = bpf_get_current_task_btf();
	record = record_find(task);
	if (!record || record->session != sched.session ||
	    (!record->left_ns && !is_first_slice(record, task)))
		return 0;
	ran_ns = task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime;
	least_ns = record->queued_ns ? record->queued_ns : record->left_ns;
	record->switches++; /* the switch that happens now */
	come_to_cpu(task, record, now_ns - least_ns > ran_ns ? now_ns - ran_ns : least_ns);
	return 0;
}

SEC("tp_btf/sched_switch")
int on_switch(uint64_t *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	uint64_t now_ns = 0; /* the clock is read once, if nothing in between takes long */

	hand_over(ctx, &switch_slot);
	if (prev->pid)
		now_ns = leave_cpu(ctx, prev);
	if (sched.hists & sched_probes_of(SCHED_EVENTS) & sched_probes_at(RUNQ_ENDED)) {
		if (!now_ns)
			now_ns = bpf_ktime_get_ns();
		slice_keep(prev, now_ns);
	}
	if (next->pid)
		enter_cpu(next, now_ns);
	return 0;
}

/*
 * The current thread is back on its CPU. If nobody saw how it came (came_unseen()), it came now,
 * for all that anybody knows.
 */
SEC("tp_btf/sched_exit_tp")
int on_sched_exit(uint64_t *ctx)
{
	struct thread_record *record;
	struct task_struct *task;
	struct returned *mine;

	if (!ctx[0]) /* nothing was switched */
		return 0;
	task = bpf_get_current_task_btf();
	if (is_marked(task)) {
		record = record_find(task);
		if (record && record->session == sched.session && record->left_ns)
			come_to_cpu(task, record, bpf_ktime_get_ns());
	}
	mine = returned_get();
	if (!mine || !mine->tid)
		return 0;
	if (mine->tid == (uint32_t)task->pid) {
		hand_over(ctx, &exit_slot);
		returned_take(ctx, task, mine);
	} else {
		count_loss(LOST_UNENDED, PROBE_OFFCPU, mine->weight);
	}
	mine->tid = 0;
	return 0;
}

/* Notes that a task is woken or new: it is runnable from now on. */
static __always_inline void queue_task(struct task_struct *task)
{
	bool of_hists = sched.hists && (sched.everybody || hists_want(target_of(task)));
	struct thread_record *record = of_hists ? record_make(task) : record_find(task);

	if (!record) {
		if (of_hists)
			count_loss(LOST_RECORDS_FULL, LOSERS_SCHED, 1);
		return;
	}
	record_begin(record, &sched);
	/* The task may be queued already: it was preempted on its way to sleep. */
	if (!record->left_ns || !record->queued_ns)
		record->queued_ns = bpf_ktime_get_ns();
	record->of_hists = of_hists;
	record->wakeups++;
}

SEC("tp_btf/sched_wakeup")
int on_wakeup(uint64_t *ctx)
{
	queue_task((struct task_struct *)ctx[0]);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int on_wakeup_new(uint64_t *ctx)
{
	queue_task((struct task_struct *)ctx[0]);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
