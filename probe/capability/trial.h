/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trials of THE TABLE in capability/capability.c. Each trial fills in a finding. A trial may
 * leave the remedy empty: capability_try() then takes the remedy of the row.
 */
#pragma once

#include <stdbool.h>

#include "capability/capability.h"

/* Loads a program of bpf/trial.bpf.c, attaches it and provokes a hit (trial_program.c). */
void trial_program(enum capability which, struct finding *finding);

/* Reads the types that the programs need from the kernel's BTF (trial_program.c). */
void trial_types(enum capability which, struct finding *finding);

/* Make BPF maps and use them (trial_map.c). */
void trial_map_in_map(enum capability which, struct finding *finding);
void trial_shared_map(enum capability which, struct finding *finding);
void trial_batch(enum capability which, struct finding *finding);
void trial_map_memory(enum capability which, struct finding *finding);

/* Read settings of the kernel and of this process (trial_host.c). */
void trial_lockdown(enum capability which, struct finding *finding);
void trial_kernel_names(enum capability which, struct finding *finding);
void trial_kernel_depth(enum capability which, struct finding *finding);
void trial_statistics(enum capability which, struct finding *finding);
void trial_privilege(enum capability which, struct finding *finding);
void trial_setting(enum capability which, struct finding *finding);
void trial_seccomp(enum capability which, struct finding *finding);
void trial_namespace(enum capability which, struct finding *finding);

/* Read other processes (trial_process.c). These may hang. */
void trial_visible(enum capability which, struct finding *finding);
void trial_maps(enum capability which, struct finding *finding);
void trial_mapped_file(enum capability which, struct finding *finding);
void trial_memory(enum capability which, struct finding *finding);

/* ---- helpers of the trials ---- */

#define REMEDY_BTF "boot a kernel with CONFIG_DEBUG_INFO_BTF=y"

/* Fills in state and reason. */
void finding_set(struct finding *finding, enum finding_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Fills in the remedy. "run as root, or " is cut off if we are root; outside of the host's user
 * namespace, where such a remedy would not help, another text takes its place. */
void finding_set_remedy(struct finding *finding, const char *remedy);

/* Returns the text of a positive errno, also of ENOTSUPP (524), which the C library lacks. */
const char *error_words(int error);

/* Numbers of capabilities(7) that older headers lack. */
#define NUMBER_PERFMON 38
#define NUMBER_BPF     39
#define NUMBER_RESTORE 40

/* Returns whether a capability of capabilities(7) is in force; `number` as in linux/capability.h.
 * False for all outside of the host's user namespace: there they don't count for what the kernel
 * guards. CAP_SYS_ADMIN includes CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE. */
bool privilege_held(int number);

/* Returns whether we are in the host's namespace; `name`: "user" or "pid". */
bool namespace_is_first(const char *name);

/* Sets the remedy after EPERM or EACCES: the missing privilege, or another seccomp profile. Leaves
 * the remedy if neither is the cause. */
void privileges_remedy(struct finding *finding);
