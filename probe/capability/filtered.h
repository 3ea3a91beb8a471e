/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a filter of system calls (seccomp, as container runtimes have it) keeps us from those
 * that profiling needs, whatever our privileges are. Found out by calling them with what no kernel
 * takes: a kernel that is asked says EINVAL before it looks at privileges.
 */
#pragma once

#include <stdbool.h>

#define FILTERED_REMEDY                                                                            \
	"another seccomp profile, which allows bpf() and perf_event_open() (a container's: "       \
	"seccomp=unconfined)"

struct filtered {
	bool filter;  /* there is one */
	bool bpf;     /* refused by it; without CAP_BPF it can't be told, and is false */
	bool perf;    /* perf_event_open() */
	bool unclear; /* of bpf() it can't be told */
};

void filtered_find(struct filtered *filtered);

/* "bpf()", "perf_event_open()", "bpf() and perf_event_open()", or NULL: what it refuses. */
const char *filtered_names(const struct filtered *filtered);

/* The same, found now, where it isn't the capabilities that lack: filters go by these. */
const char *filtered_calls(void);
