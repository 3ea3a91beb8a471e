/* SPDX-License-Identifier: GPL-2.0-only */
/* The last tasks that waited too long for a CPU (runqslower), each with a number that counts up. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/shared/scheduler.h"

struct container;

#define SLOW_LOG_EVENTS 1000

/* Who had the CPU. */
struct slow_other {
	uint32_t tid;
	char comm[COMM_BYTES];
};

struct slow_entry {
	uint64_t time_ns; /* since 1970: when it came to the CPU */
	uint64_t delay_ns;
	uint32_t tgid, tid, cpu;
	char comm[COMM_BYTES];
	uint64_t target_id;	     /* of a chosen process; 0: it isn't one */
	pid_t ns_pid;		     /* 0: not known */
	struct container *container; /* of a chosen process; NULL: in none, or not known */
	struct slow_other before;    /* had the CPU just before */
	struct slow_other most;	     /* had it longest while it waited … */
	uint64_t most_ns;	     /* … that long; 0: not known */
};

struct slow_log {
	uint64_t next; /* number of the next one; those before it since the log began */
	struct slow_entry entries[SLOW_LOG_EVENTS];
};

/* It has a reference to the entry's container, until it is the oldest. */
void slow_log_add(struct slow_log *log, const struct slow_entry *entry);
void slow_log_free(struct slow_log *log);

/* The number of the oldest one that is kept. */
uint64_t slow_log_first(const struct slow_log *log);

/* The one with a number from slow_log_first() to before `next`. */
const struct slow_entry *slow_log_get(const struct slow_log *log, uint64_t number);
