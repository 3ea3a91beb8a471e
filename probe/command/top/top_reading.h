/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon tells of an interval: a line of `/proc/all.json?every=N`, read into rows. Pure
 * functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/shared/process_cost.h"

#define OWNER_BYTES 256

/* Whose a row is. Texts are printable ASCII: what else a target put there is '?'. */
struct top_owner {
	pid_t pid;		/* 0: the row stands for several processes */
	uint64_t processes;	/* how many */
	char name[OWNER_BYTES]; /* of the process, the cgroup, the container, the pod; "": none */
	char container[OWNER_BYTES]; /* of a process; "": in none, or not known */
	bool is_kernel;		     /* a thread of the kernel */
	bool has_ended;
};

struct top_cost {
	struct top_owner owner;
	struct cost_sums costs; /* of the interval */
};

struct top_reading {
	double from_s, until_s; /* since 1970 */
	uint64_t cpus;
	uint64_t wall_ns, idle_ns, iowait_ns, interrupts_ns, steal_ns; /* of all CPUs */
	uint32_t known; /* values that this kernel counts: 1 << enum cost */
	struct top_cost *rows;
	size_t count;
	struct top_cost all;	 /* the sum, of rows that aren't in `rows` too */
	uint64_t lost;		 /* processes whose end isn't counted, since /proc runs */
	char ended[OWNER_BYTES]; /* why no more come; "": they do */
};

/*
 * Reads a line of `bytes` bytes. Returns 0; 1 if it tells of no interval (some were missed, or
 * `ended`); -EBADMSG; -ENOMEM. top_reading_done() is to be called in any case.
 */
int top_reading_parse(struct top_reading *reading, const char *line, size_t bytes);

/* Reads rows of single processes, and names each as the row of this group (costs/cost_kind.h) would
 * be named that it belongs to. */
int top_reading_parse_members(struct top_reading *reading, const char *line, size_t bytes,
			      const char *group);
void top_reading_done(struct top_reading *reading);
