/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer's part for memory: page faults (tracer_faults.c) and calls of allocators
 * (tracer_calls.c). Loop thread only, where nothing else is said.
 */
#pragma once

#include "bpf/shared/allocations.h"
#include "capability/ktypes.h"
#include "kernel/tracer.h"

/* What page faults and calls of allocators load (kernel/preload.h); NULL ends each list. */
extern const struct loadable *const faults_loads[], *const calls_loads[];

/*
 * Starts to sample page faults of targets of the probe mem, one in `sample_bytes` bytes in the
 * mean, 0: each fault. Called again, changes that. Errors as tracer_start().
 */
int tracer_faults(struct tracer *tracer, uint64_t sample_bytes, struct why *why);

/* Detaches and unloads the programs. */
void tracer_faults_stop(struct tracer *tracer);

/* Return a sentence on why the kernel's faults can't be told, and on what it doesn't tell of them;
 * "": nothing. */
const char *tracer_faults_lack(const struct ktypes *types);
const char *tracer_faults_limit(const struct ktypes *types);

struct calls_settings {
	uint64_t sample_bytes; /* one in so many bytes in the mean (4 GiB at most); 0: each call */
	bool keeps_age;	       /* what realloc() gives is as old as what it was given */
};

/*
 * Loads the programs for calls of allocators, without attaching them: that is done by
 * alloc/uprobes.h. Called again, changes the settings. Errors as tracer_start().
 */
int tracer_calls(struct tracer *tracer, const struct calls_settings *settings, struct why *why);

/* Unloads the programs and forgets what is held. Nothing may be attached any more. */
void tracer_calls_stop(struct tracer *tracer);

/* Descriptors of the programs for uprobes, by enum call. */
struct call_programs {
	int fds[CALL_COUNT_OF];
	/*
	 * True: a program decides at each entry whether it sees the return
	 * (BPF_TRACE_UPROBE_SESSION). False: entries and returns have programs of their own.
	 */
	bool session;
	int return_fds[CALL_COUNT_OF]; /* -1: none */
	/* without sessions: for points with COOKIE_NULL_IS_MALLOC; else -1 */
	int realloc_fd;
};

/*
 * Makes new descriptors, which the caller closes and any thread may use. Returns 0; -ENOENT if they
 * aren't loaded; another negative errno, such as -EMFILE.
 */
int tracer_call_programs(const struct tracer *tracer, struct call_programs *programs);

/*
 * Returns a new descriptor of the map `held` (bpf/shared/allocations.h), which the caller closes
 * and any thread may read; -ENOENT if it isn't loaded, or another negative errno.
 */
int tracer_held_fd(const struct tracer *tracer);

/* Returns how many entries the map `held` has room for. */
uint32_t tracer_held_max(const struct tracer *tracer);
