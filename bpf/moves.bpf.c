// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports processes that are moved to other cgroups, while processes are chosen by cgroups. */
#include "bpf/process/process_events.h"

/*
 * Reports that a process got other cgroups without a new program: the daemon looks at the process
 * when the move is complete. Runs for each hierarchy, with the process's main thread.
 */
SEC("raw_tp/cgroup_attach_task")
int on_move(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[2];
	uint32_t zero = 0, tgid = BPF_CORE_READ(task, tgid);
	struct control *settings = bpf_map_lookup_elem(&control, &zero);
	bool is_target = bpf_map_lookup_elem(&targets, &tgid);
	struct life_event event = {};

	if (!settings || (!is_target && !(settings->follow_new && settings->by_cgroup)) ||
	    (uint32_t)BPF_CORE_READ(task, pid) != tgid)
		return 0;
	tell_group(task, &event.group);
	if (!is_target && verdict_on_group(&event.group, settings->selection) == VERDICT_DOES_NOT)
		return 0;
	event.kind = LIFE_MOVED;
	event.tgid = tgid;
	event.time_ns = bpf_ktime_get_ns();
	event.start_ns = BPF_CORE_READ(task, start_boottime);
	send_life(&event, lazy_flag());
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
