/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of probes/ that load BPF objects share: those of the scheduler, and those of
 * allocators. Nobody else includes it. */
#pragma once

#include "kernel/tracer_part.h"

struct call_programs;

/* ---- the scheduler's programs (tracer_sched.c) ---- */

/* Loads them and attaches to switches, unless that is done; then tracer->settings are theirs, with
 * nothing on and a session of their own. Errors as tracer_start(). */
int tracer_sched_load(struct tracer *tracer, char *why, size_t why_bytes);

/* Attaches to wake-ups, or detaches, as the settings need them. To be called after each change of
 * these. Negative errno. */
int tracer_sched_wakeups(struct tracer *tracer);

/* Unloads them if the settings have nothing on. */
void tracer_sched_release(struct tracer *tracer);

void tracer_sched_unload(struct tracer *tracer);

/* Whether records are in the tasks' own storage. They are loaded. */
bool tracer_has_task_storage(const struct tracer *tracer);

/* What belongs to histograms alone; their program is about to go, or they are off. */
void tracer_hists_unload(struct tracer *tracer);

/* Run-queue lengths (tracer_lengths.c): from zero, if they aren't on. Errors as tracer_start(). */
int tracer_lengths(struct tracer *tracer, char *why, size_t why_bytes);
void tracer_lengths_stop(struct tracer *tracer);

/* ---- the programs for mmap() and its kin (tracer_mmap.c), with those for allocators ---- */

/* Negative errno; what there is by then is for tracer_mmap_unload(). */
int tracer_mmap_load(struct tracer *tracer);
void tracer_mmap_unload(struct tracer *tracer);

/* Adds new descriptors of theirs, `programs->session` is set. -EMFILE …: some may have been added.
 */
int tracer_mmap_programs(const struct tracer *tracer, struct call_programs *programs);

/* ---- what processes had of their CPUs (tracer_times.c) ---- */

/* Needs the scheduler's programs. Errors as tracer_start(). */
int tracer_times_load(struct tracer *tracer, char *why, size_t why_bytes);
void tracer_times_unload(struct tracer *tracer);
