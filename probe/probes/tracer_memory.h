/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracer's part for memory: page faults (tracer_faults.c), calls of allocators
 * (tracer_calls.c). On the loop's thread where nothing else is said. */
#pragma once

#include "bpf/shared/allocations.h"
#include "kernel/tracer.h"

/* Of so many bytes one is taken in the mean, of page faults and of allocations; 0: each of them. */
struct memory_settings {
	uint64_t fault_bytes, sample_bytes;
};

/* Page faults of targets of PROBE_MEM; of so many bytes one is taken in the mean, 0: each. Again:
 * changes that. Errors as tracer_start(). */
int tracer_faults(struct tracer *tracer, uint64_t sample_bytes, char *why, size_t why_bytes);

/* Detaches and unloads. */
void tracer_faults_stop(struct tracer *tracer);

/* What can't be told of faults here, a sentence; "": nothing. They are loaded. */
const char *tracer_faults_limit(const struct tracer *tracer);

/*
 * Loads the programs for calls of allocators; nothing is attached yet: that is alloc/uprobes.h's.
 * Of so many bytes one is taken in the mean (4 GiB at most), 0: each allocation. Again: changes
 * that. Errors as tracer_start().
 */
int tracer_calls(struct tracer *tracer, uint64_t sample_bytes, char *why, size_t why_bytes);

/* Unloads; what was held is forgotten. Nothing is attached any more. */
void tracer_calls_stop(struct tracer *tracer);

/* The programs for uprobes, of each enum call. */
struct call_programs {
	int fds[CALL_COUNT_OF];
	/* They say at each entry whether they want the return (BPF_TRACE_UPROBE_SESSION); else each
	 * entry and each return is a program of its own. */
	bool session;
	int return_fds[CALL_COUNT_OF]; /* -1: none */
	int realloc_fd; /* without sessions: of points with COOKIE_NULL_IS_MALLOC; else -1 */
};

/* New descriptors, the caller's to close; any thread may use them. -ENOENT: not loaded; -EMFILE …
 */
int tracer_call_programs(const struct tracer *tracer, struct call_programs *programs);

/* A new descriptor of the map `held` (bpf/shared/allocations.h), to be read on any thread. -ENOENT
 */
int tracer_held_fd(const struct tracer *tracer);

/* Entries that map has room for. */
uint32_t tracer_held_max(const struct tracer *tracer);
