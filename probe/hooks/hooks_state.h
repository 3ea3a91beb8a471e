/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the files of hooks/ that load BPF objects: the scheduler's and the allocators'. */
#pragma once

#include "kernel/tracer_part.h"

/* ---- the scheduler's programs (tracer_sched.c) ---- */

/*
 * Loads the programs and attaches to switches, unless that is done. Then tracer->settings are
 * theirs, with nothing on and a new session number. Errors as tracer_start().
 */
int tracer_sched_load(struct tracer *tracer, struct why *why);

/*
 * Attaches to wake-ups or detaches, as the settings need. Call it after each change of the
 * settings. Returns 0 or a negative errno.
 */
int tracer_sched_wakeups(struct tracer *tracer);

/*
 * Attaches to the end of switches, where the kernel has a tracepoint there, or detaches: off-CPU
 * takes its stacks there. Returns 0 or a negative errno.
 */
int tracer_sched_returns(struct tracer *tracer, bool wanted);

/* Unloads the programs if the settings have nothing on. */
void tracer_sched_release(struct tracer *tracer);

extern const struct loadable loadable_sched, loadable_times;

/* Returns whether threads' records are in the tasks' own storage. The programs must be loaded. */
bool tracer_has_task_storage(const struct tracer *tracer);

/* Unloads what only histograms need: they are off, or their program is about to go. */
void tracer_hists_unload(struct tracer *tracer);

/*
 * Starts run-queue lengths (tracer_lengths.c), from zero unless they are on. Errors as
 * tracer_start().
 */
int tracer_lengths(struct tracer *tracer, struct why *why);
void tracer_lengths_stop(struct tracer *tracer);

extern const struct loadable loadable_malloc, loadable_fault;

/* ---- what processes had of their CPUs (tracer_times.c) ---- */

/* Loads the programs; those of the scheduler must be loaded. Errors as tracer_start(). */
int tracer_times_load(struct tracer *tracer, struct why *why);
void tracer_times_unload(struct tracer *tracer);

/* Leaves out the maps of headers that an object only includes: all but `used`, which NULL ends. To
 * be called before the object is loaded. */
void tracer_keep_maps(struct bpf_object *object, const struct bpf_map *const *used);
