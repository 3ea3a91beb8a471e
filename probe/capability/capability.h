/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feature detection: finds out what this kernel and these privileges allow, by trying: BPF programs
 * are loaded, attached and hit, files are opened. Kernel versions are not looked at. `stackprobe
 * doctor` shows all rows; command/privileges.c asks which hooks need CAP_SYS_ADMIN.
 *
 * THE TABLE is in capability.c. A trial changes no setting and leaves nothing behind. A trial takes
 * up to TRIAL_NS. A trial of the group "processes" reads other processes and may hang: run it in a
 * job or a child.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum capability {
	CAN_NOTHING, /* no row */
	/* the kernel */
	CAN_KNOW_TYPES,	 /* BTF */
	CAN_READ_KERNEL, /* kernel memory, from a BPF program */
	CAN_PASS_LOCKDOWN,
	CAN_NAME_KERNEL,   /* names of kernel functions */
	CAN_WALK_KERNEL,   /* kernel stacks, KERNEL_FRAMES_MAX deep */
	CAN_TIME_PROGRAMS, /* BPF statistics */
	/* privileges */
	CAN_BPF,
	CAN_PERFMON,
	CAN_PTRACE,
	CAN_READ_FILES,
	CAN_RESTORE,
	CAN_SYSLOG,
	CAN_RAISE_LIMITS,
	CAN_LOCK_MEMORY,
	CAN_UNPRIVILEGED_BPF,
	CAN_UNPRIVILEGED_PERF,
	CAN_PASS_SECCOMP, /* no seccomp filter refuses our system calls */
	CAN_ACT_IN_HOST,  /* the host's user namespace */
	CAN_SEE_PIDS,	  /* the host's pid namespace */
	/* hooks */
	CAN_CPU_CLOCK,
	CAN_CPU_CYCLES,
	CAN_CACHE_MISSES, /* and the next: of the last-level cache */
	CAN_CACHE_REFERENCES,
	CAN_PAGE_FAULTS,
	CAN_FAULT_CODES, /* the error code of a fault, before it is handled */
	CAN_RAW_TRACEPOINT,
	CAN_TYPED_TRACEPOINT,
	CAN_TRACEPOINT,
	CAN_KPROBE,
	CAN_FENTRY,
	CAN_UPROBE,
	CAN_URETPROBE,
	CAN_UPROBE_SESSION,
	CAN_ITERATE_TASKS,
	CAN_ITERATE_SLEEPABLE,
	/* what programs use */
	CAN_RING_BUFFER,
	CAN_TASK_REGS,
	CAN_TASK_STORAGE,
	CAN_MAP_IN_MAP,
	CAN_SHARE_MAP,
	CAN_READ_BATCH,
	/* other processes */
	CAN_SEE_PROCESSES,
	CAN_READ_MAPS,
	CAN_OPEN_MAPPED,
	CAN_READ_MEMORY,
	CAPABILITY_COUNT
};

enum finding_state { FINDING_NO, FINDING_LIMITED, FINDING_YES };

struct finding {
	enum finding_state state;
	char reason[320]; /* what was found, for any state */
	char remedy[200]; /* a command or setting; "none is known"; "": none is needed */
};

#define TRIAL_NS 1000000000ULL /* longest wait for a program to run */

struct capability_row {
	const char *group; /* "kernel", "privileges", "hooks", "programs", "processes" */
	const char *name;  /* stable, for scripts */
	const char *use;   /* what the capability is good for; "": the reason says it */
	void (*try)(enum capability which, struct finding *finding); /* capability/trial.h */
	const char *remedy; /* if the trial sets none; NULL: none is known */
};

const struct capability_row *capability_row(enum capability which);

/* Tries a capability now. All errors are in the finding. */
void capability_try(enum capability which, struct finding *finding);

/* Returns "yes", "limited" or "no". */
const char *finding_state_name(enum finding_state state);
