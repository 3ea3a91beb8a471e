/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects a seccomp filter (as container runtimes set it) that refuses the system calls of
 * profiling, whatever our privileges are. The calls are made with arguments that are always
 * invalid: if no filter refuses a call, the kernel answers EINVAL before it looks at privileges.
 */
#pragma once

#include <stdbool.h>

#define FILTERED_REMEDY                                                                            \
	"another seccomp profile, which allows bpf() and perf_event_open() (a container's: "       \
	"seccomp=unconfined)"

struct seccomp_filter {
	bool filter;  /* there is a filter */
	bool bpf;     /* the filter refuses bpf() */
	bool perf;    /* the filter refuses perf_event_open() */
	bool unclear; /* bpf() is refused, and without CAP_BPF it is unknown by whom; `bpf` is false
		       */
};

/* Fills in *filtered. */
void seccomp_find(struct seccomp_filter *filtered);

/* Returns what the filter refuses: "bpf()", "perf_event_open()", "bpf() and perf_event_open()"; or
 * NULL. */
const char *seccomp_names(const struct seccomp_filter *filtered);

/* Like seccomp_names(), of seccomp_find() now. NULL without CAP_BPF or CAP_PERFMON: runtimes'
 * filters depend on the capabilities, so these have to be added first. */
const char *seccomp_calls(void);
