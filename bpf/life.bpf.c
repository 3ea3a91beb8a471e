// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps the map of targets true through fork, exec, rename and exit, and sends the events to the
 * daemon.
 *
 * A child of a target is a target from its first instruction on. Whether a program that has just
 * begun (or has taken a new name) matches is decided by the daemon, milliseconds later. Until then
 * the process is sampled under an id of its own: nothing is missed, and the samples of a process
 * that doesn't match are dropped.
 *
 * The daemon leaves its verdicts on names and on cgroups in `verdicts`: a program that no snooper
 * can match is passed over, and a program that matches in any case can wait to be looked at.
 */
#include "bpf/process/exited.h"
#include "bpf/process/process_events.h"

#define WAKE_EXEC_EVERY_NS 10000000ULL
#define WAKE_EXIT_EVERY_NS 10000000ULL

uint64_t last_exec_wake_ns, last_exit_wake_ns; /* a lost race costs one more wake-up */

static __always_inline void set_target(uint32_t tgid, const struct target_value *value)
{
	if (bpf_map_update_elem(&targets, &tgid, value, BPF_ANY))
		count_loss(LOST_TARGETS_FULL, LOSERS_ALL, 1);
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	uint32_t parent_tgid, pid = BPF_CORE_READ(child, pid), tgid = BPF_CORE_READ(child, tgid);
	struct life_event event = {};
	struct target_value *inherited, value;

	if (pid != tgid)
		return 0; /* a thread */
	parent_tgid = BPF_CORE_READ(parent, tgid);
	inherited = bpf_map_lookup_elem(&targets, &parent_tgid);
	if (!inherited) {
		bpf_map_delete_elem(&targets, &tgid); /* in case an entry outlived its process */
		return 0;
	}
	event.kind = LIFE_FORK;
	event.tgid = tgid;
	event.parent = parent_tgid;
	event.old_id = inherited->id;
	event.probes = inherited->probes;
	event.time_ns = bpf_ktime_get_ns();
	event.id = event.time_ns;
	event.start_ns = BPF_CORE_READ(child, start_boottime);
	BPF_CORE_READ_STR_INTO(&event.comm, child, comm);
	event.ns_pid = pid_of(child);
	tell_group(child, &event.group);
	value = *inherited;
	value.id = event.id;
	value.noticed = 0;
	set_target(tgid, &value);
	send_life(&event, lazy_flag());
	return 0;
}

/*
 * Returns the flag of the event of a new program. A program that matches in any case is looked at
 * before its first sample only when few programs start; else its first stack wakes the daemon.
 */
static __always_inline uint64_t exec_flag(uint64_t word, uint64_t now_ns)
{
	if (word == VERDICT_DOES_NOT)
		return lazy_flag();
	if (word == VERDICT_MATCHES && now_ns - last_exec_wake_ns < WAKE_EXEC_EVERY_NS)
		return lazy_flag();
	last_exec_wake_ns = now_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/* Returns the flag of an exit event. */
static __always_inline uint64_t exit_flag(const struct target_value *target, uint64_t now_ns)
{
	if (!(target->probes & POINTS_IN_CODE) || now_ns - last_exit_wake_ns < WAKE_EXIT_EVERY_NS)
		return lazy_flag();
	last_exit_wake_ns = now_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/* Returns the verdict by name and cgroups together: a process matches if any snooper matches. */
static __always_inline uint64_t verdict_of_both(uint64_t name, uint64_t group)
{
	if (name == VERDICT_MATCHES || group == VERDICT_MATCHES)
		return VERDICT_MATCHES;
	return name == VERDICT_DOES_NOT && group == VERDICT_DOES_NOT ? VERDICT_DOES_NOT : 0;
}

/* Begins a new incarnation at a new program or a new name; the daemon decides on it. */
static __always_inline void renew_target(struct task_struct *leader, enum life_kind kind,
					 const char *comm)
{
	uint32_t zero = 0, tgid = BPF_CORE_READ(leader, tgid);
	struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct target_value *old = bpf_map_lookup_elem(&targets, &tgid);
	struct life_event event = {};
	struct target_value value = {};
	uint64_t word;

	if (!settings || (!old && !settings->follow_new))
		return;
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), comm);
	/* A name that is about to change can't be seen in /proc yet, where a selection that changes
	 * just now would look for it: no verdict on such a name. */
	word = kind == LIFE_EXEC ? verdict_on_name(event.comm, settings->selection) : 0;
	if (!settings->by_cgroup && !old && word == VERDICT_DOES_NOT)
		return;
	tell_group(leader, &event.group);
	if (settings->by_cgroup && kind == LIFE_EXEC)
		word = verdict_of_both(word, verdict_on_group(&event.group, settings->selection));
	if (!old && word == VERDICT_DOES_NOT)
		return;
	event.ns_pid = pid_of(leader);
	event.kind = kind;
	event.verdict = word;
	event.tgid = tgid;
	event.old_id = old ? old->id : 0;
	event.time_ns = bpf_ktime_get_ns();
	event.id = event.time_ns;
	event.start_ns = BPF_CORE_READ(leader, start_boottime);
	value.id = event.id;
	value.probes = settings->pending_probes;
	value.unread = word != VERDICT_DOES_NOT;
	set_target(tgid, &value);
	send_life(&event, exec_flag(word, event.time_ns));
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	renew_target(leader, LIFE_EXEC, leader->comm);
	return 0;
}

/* Runs before the name changes. execve renames as well, and has its own event above. */
SEC("raw_tp/task_rename")
int on_rename(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];

	if (BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid))
		return 0;
	if (bpf_core_field_exists(task->in_execve) &&
	    BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		return 0;
	renew_target(task, LIFE_RENAME, (const char *)ctx->args[1]);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	uint32_t tgid = BPF_CORE_READ(task, tgid);
	struct target_value *old;
	struct life_event event = {};

	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0; /* not its last thread */
	old = bpf_map_lookup_elem(&targets, &tgid);
	if (!old)
		return 0;
	event.kind = LIFE_EXIT;
	event.tgid = tgid;
	event.id = old->id;
	event.time_ns = bpf_ktime_get_ns();
	send_life(&event, exit_flag(old, event.time_ns));
	gone_begins(task, old);
	bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
