// SPDX-License-Identifier: GPL-2.0-or-later
#include "capability/capability.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capability/seccomp_check.h"
#include "capability/trial.h"

#define ENOTSUPP_KERNEL                                                                            \
	524 /* include/linux/errno.h of the kernel; internal, yet programs get it                  \
	     */

static const struct capability_row rows[CAPABILITY_COUNT] = {
	[CAN_KNOW_TYPES] = {"kernel", "btf", "where the kernel's fields lie", trial_types,
			    REMEDY_BTF},
	[CAN_READ_KERNEL] = {"kernel", "kernel_memory", "programs read kernel memory",
			     trial_program, "boot without lockdown=confidentiality"},
	[CAN_PASS_LOCKDOWN] = {"kernel", "lockdown", "", trial_lockdown,
			       "boot without lockdown=confidentiality"},
	[CAN_NAME_KERNEL] = {"kernel", "kernel_names", "names of the kernel's functions",
			     trial_kernel_names, NULL},
	[CAN_WALK_KERNEL] = {"kernel", "kernel_stacks", "", trial_kernel_depth,
			     "sysctl kernel.perf_event_max_stack=127"},
	[CAN_TIME_PROGRAMS] = {"kernel", "bpf_statistics", "what the programs cost",
			       trial_statistics, "add CAP_SYS_ADMIN"},

	[CAN_BPF] = {"privileges", "cap_bpf", "to load BPF programs", trial_privilege,
		     "run as root, or add CAP_BPF"},
	[CAN_PERFMON] = {"privileges", "cap_perfmon", "to sample, and to read with programs",
			 trial_privilege, "run as root, or add CAP_PERFMON"},
	[CAN_PTRACE] = {"privileges", "cap_sys_ptrace", "to see others' mappings", trial_privilege,
			"run as root, or add CAP_SYS_PTRACE"},
	[CAN_READ_FILES] = {"privileges", "cap_dac_read_search", "to read others' programs",
			    trial_privilege, "run as root, or add CAP_DAC_READ_SEARCH"},
	[CAN_RESTORE] = {"privileges", "cap_checkpoint_restore", "to read deleted programs",
			 trial_privilege, "run as root, or add CAP_CHECKPOINT_RESTORE"},
	[CAN_SYSLOG] = {"privileges", "cap_syslog", "to see the kernel's addresses",
			trial_privilege, "run as root, or add CAP_SYSLOG"},
	[CAN_RAISE_LIMITS] = {"privileges", "cap_sys_resource",
			      "to raise limits of memory and files", trial_privilege,
			      "add CAP_SYS_RESOURCE"},
	[CAN_LOCK_MEMORY] = {"privileges", "map_memory", "", trial_map_memory,
			     "ulimit -l unlimited (systemd: LimitMEMLOCK=infinity)"},
	[CAN_UNPRIVILEGED_BPF] = {"privileges", "unprivileged_bpf_disabled", "", trial_setting,
				  "run as root, or add CAP_BPF"},
	[CAN_UNPRIVILEGED_PERF] = {"privileges", "perf_event_paranoid", "", trial_setting,
				   "run as root, or add CAP_PERFMON"},
	[CAN_PASS_SECCOMP] = {"privileges", "seccomp", "", trial_seccomp, FILTERED_REMEDY},
	[CAN_ACT_IN_HOST] = {"privileges", "user_namespace", "", trial_namespace,
			     "run outside of rootless containers"},
	[CAN_SEE_PIDS] = {"privileges", "pid_namespace", "", trial_namespace,
			  "share the host's pid namespace (docker: --pid=host; "
			  "Kubernetes: hostPID: true)"},

	[CAN_CPU_CLOCK] = {"hooks", "cpu_clock", "samples by the CPU's clock", trial_program, NULL},
	[CAN_CPU_CYCLES] = {"hooks", "cpu_cycles", "samples by the CPU's counters", trial_program,
			    "in a virtual machine, have the host pass a PMU through"},
	[CAN_CACHE_MISSES] = {"hooks", "cache_misses", "misses of the last-level cache",
			      trial_program,
			      "in a virtual machine, have the host pass a PMU through"},
	[CAN_CACHE_REFERENCES] = {"hooks", "cache_references", "look-ups in that cache",
				  trial_program,
				  "in a virtual machine, have the host pass a PMU through"},
	[CAN_PAGE_FAULTS] = {"hooks", "page_faults", "growth of memory", trial_program, NULL},
	[CAN_FAULT_CODES] = {"hooks", "page_fault_tp", "which faults are copies at a write",
			     trial_program, NULL},
	[CAN_RAW_TRACEPOINT] = {"hooks", "raw_tracepoint", "scheduler and process events",
				trial_program, NULL},
	[CAN_TYPED_TRACEPOINT] = {"hooks", "tp_btf", "the same with types", trial_program, NULL},
	[CAN_TRACEPOINT] = {"hooks", "tracepoint", "events by tracefs", trial_program,
			    "mount -t tracefs tracefs /sys/kernel/tracing"},
	[CAN_KPROBE] = {"hooks", "kprobe", "any kernel function", trial_program,
			"boot a kernel with CONFIG_KPROBE_EVENTS=y"},
	[CAN_FENTRY] = {"hooks", "fentry", "most kernel functions, faster", trial_program, NULL},
	[CAN_UPROBE] = {"hooks", "uprobe", "functions of programs", trial_program,
			"boot a kernel with CONFIG_UPROBE_EVENTS=y"},
	[CAN_URETPROBE] = {"hooks", "uretprobe", "their returns", trial_program,
			   "boot a kernel with CONFIG_UPROBE_EVENTS=y"},
	[CAN_UPROBE_SESSION] = {"hooks", "uprobe_session", "returns where they are wanted only",
				trial_program, "none but a newer kernel"},
	[CAN_ITERATE_TASKS] = {"hooks", "iter_task", "all tasks, from a program", trial_program,
			       NULL},
	[CAN_ITERATE_SLEEPABLE] = {"hooks", "iter_task_sleepable", "the memory of tasks that wait",
				   trial_program, "none but a newer kernel"},

	[CAN_RING_BUFFER] = {"programs", "ring_buffer", "new stacks to the daemon", trial_program,
			     "none but a newer kernel"},
	[CAN_TASK_REGS] = {"programs", "bpf_task_pt_regs", "the user's half of a system call",
			   trial_program,
			   "none but a newer kernel; the registers are found by another way"},
	[CAN_TASK_STORAGE] = {"programs", "task_storage", "data of each task", trial_program,
			      "none but a newer kernel"},
	[CAN_MAP_IN_MAP] = {"programs", "map_in_map", "to wait until no program runs",
			    trial_map_in_map, NULL},
	[CAN_SHARE_MAP] = {"programs", "mmap_array", "to steer programs without a call",
			   trial_shared_map, NULL},
	[CAN_READ_BATCH] = {"programs", "map_batch", "to read a window at once", trial_batch,
			    "none but a newer kernel"},

	[CAN_SEE_PROCESSES] = {"processes", "processes", "/proc shows all processes", trial_visible,
			       "mount -o remount,hidepid=0 /proc"},
	[CAN_READ_MAPS] = {"processes", "process_maps", "which code a process has", trial_maps,
			   "run as root, or add CAP_SYS_PTRACE"},
	[CAN_OPEN_MAPPED] = {"processes", "process_files", "that code's files, for names",
			     trial_mapped_file, "run as root, or add CAP_CHECKPOINT_RESTORE"},
	[CAN_READ_MEMORY] = {"processes", "process_memory", "a process's memory", trial_memory,
			     "run as root, or add CAP_SYS_PTRACE"},
};

const struct capability_row *capability_row(enum capability which)
{
	return &rows[which];
}

void capability_try(enum capability which, struct finding *finding)
{
	*finding = (struct finding){.state = FINDING_NO};
	rows[which].try(which, finding);
	if (finding->state == FINDING_YES)
		finding->remedy[0] = '\0';
	else if (!finding->remedy[0])
		finding_set_remedy(finding,
				   rows[which].remedy ? rows[which].remedy : "none is known");
}

void finding_set_remedy(struct finding *finding, const char *remedy)
{
	static const char as_root[] = "run as root, or ";
	bool by_root = strncmp(remedy, as_root, sizeof(as_root) - 1) == 0;

	if (by_root && !namespace_is_first("user"))
		remedy = "run in the host's user namespace: privileges in another don't count here";
	else if (by_root && geteuid() == 0)
		remedy += sizeof(as_root) - 1;
	snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy);
}

const char *finding_state_name(enum finding_state state)
{
	static const char *const names[] = {
		[FINDING_NO] = "no", [FINDING_LIMITED] = "limited", [FINDING_YES] = "yes"};

	return names[state];
}

void finding_set(struct finding *finding, enum finding_state state, const char *format, ...)
{
	va_list args;

	finding->state = state;
	va_start(args, format);
	vsnprintf(finding->reason, sizeof(finding->reason), format, args);
	va_end(args);
}

const char *error_words(int error)
{
	return error == ENOTSUPP_KERNEL ? "Not supported by the kernel" : strerror(error);
}
