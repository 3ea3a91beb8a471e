/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log of the last tasks that waited too long (runqslower, offcpuslower): a ring of numbered
 * entries. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/shared/scheduler.h"

struct container;

#define SLOW_LOG_EVENTS 1000

/* A task that had the CPU. */
struct slow_other {
	uint32_t tid;
	char comm[COMM_BYTES];
};

struct slow_entry {
	enum sched_probe probe;
	enum wait_state state; /* in which it left its CPU */
	uint64_t time_ns;      /* when it got the CPU, ns since 1970 */
	uint64_t delay_ns;
	uint32_t tgid, tid, cpu;
	char comm[COMM_BYTES];
	uint64_t target_id;	     /* of a chosen process; 0: it isn't one */
	pid_t ns_pid;		     /* 0: not known */
	struct container *container; /* of a chosen process; NULL: none, or not known */
	struct slow_other before;    /* had the CPU just before */
	struct slow_other most;	     /* had it longest during the wait … */
	uint64_t most_ns;	     /* … for this time; 0: not known */
};

struct slow_log {
	uint64_t next; /* number of the next entry, so of entries since the log began */
	struct slow_entry entries[SLOW_LOG_EVENTS];
};

/*
 * Adds a copy, with a reference to the entry's container; drops the oldest entry if the log is
 * full.
 */
void slow_log_add(struct slow_log *log, const struct slow_entry *entry);
void slow_log_free(struct slow_log *log);

/* Returns the number of the oldest entry. */
uint64_t slow_log_first(const struct slow_log *log);

/* Returns an entry; `number` is from slow_log_first() to below `next`. */
const struct slow_entry *slow_log_get(const struct slow_log *log, uint64_t number);
