/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trials behind THE TABLE of capability/capability.c. Each fills a finding, whose remedy may
 * stay empty: capability_try() then puts the row's there.
 */
#pragma once

#include <stdbool.h>

#include "capability/capability.h"

/* Loads a program of bpf/trial.bpf.c, attaches it and has it hit (trial_program.c). */
void trial_program(enum capability which, struct finding *finding);

/* The types that the programs read, from the kernel's BTF. */
void trial_types(enum capability which, struct finding *finding);

/* Maps, by using them (trial_map.c). */
void trial_map_in_map(enum capability which, struct finding *finding);
void trial_shared_map(enum capability which, struct finding *finding);
void trial_batch(enum capability which, struct finding *finding);
void trial_map_memory(enum capability which, struct finding *finding);

/* The kernel's settings and ours (trial_host.c). */
void trial_lockdown(enum capability which, struct finding *finding);
void trial_kernel_names(enum capability which, struct finding *finding);
void trial_kernel_depth(enum capability which, struct finding *finding);
void trial_statistics(enum capability which, struct finding *finding);
void trial_privilege(enum capability which, struct finding *finding);
void trial_setting(enum capability which, struct finding *finding);
void trial_seccomp(enum capability which, struct finding *finding);
void trial_namespace(enum capability which, struct finding *finding);

/* Another process (trial_process.c). These may hang. */
void trial_visible(enum capability which, struct finding *finding);
void trial_maps(enum capability which, struct finding *finding);
void trial_mapped_file(enum capability which, struct finding *finding);
void trial_memory(enum capability which, struct finding *finding);

/* ---- for these ---- */

#define REMEDY_BTF "boot a kernel with CONFIG_DEBUG_INFO_BTF=y"

/* Fills in state and reason. */
void finding_set(struct finding *finding, enum finding_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Fills in the remedy. One that begins with "run as root, or " is changed where we are root, or
 * where it would not help: in a user namespace of our own. */
void finding_set_remedy(struct finding *finding, const char *remedy);

/* The words for an errno (positive), those that the C library doesn't know included. */
const char *error_words(int error);

/* Numbers of capabilities(7) that older headers lack. */
#define NUMBER_PERFMON 38
#define NUMBER_BPF     39
#define NUMBER_RESTORE 40

/* Whether a capability of capabilities(7) is in force; `number` as in linux/capability.h. In a user
 * namespace of its own none counts for what the kernel guards. */
bool privilege_held(int number);

/* Whether we are in the kernel's first user namespace, or pid namespace. */
bool namespace_is_first(const char *name);

/* After EPERM or EACCES: the privilege that lacks, or the filter that forbids; the remedy stays as
 * it is where neither is found. */
void privileges_remedy(struct finding *finding);
