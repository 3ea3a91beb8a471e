/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log of targets: a line for each process that becomes a target of probes, stops being one, or
 * stays one and executes another program. The rate is limited: where many come and go, most are
 * only counted, and the count is logged. At level debug each has a line. The journal is told of
 * their containers as well. Loop thread only.
 */
#pragma once

#include "loop/rate.h"
#include "select/container_journal.h"
#include "target/target_table.h"

struct target_log {
	struct rate rate;
	uint64_t added, removed, execs; /* not logged, and not yet in a logged count */
	struct container_journal containers;
};

/* Returns 0 or -ENOMEM. */
int target_log_init(struct target_log *log, struct loop *loop);
void target_log_done(struct target_log *log);

/*
 * Logs that the target is sampled for these probes (struct target_value.probes; 0: none) from now
 * on, if that is new.
 */
void target_log_probes(struct target_log *log, struct target *target, uint32_t probes);

/*
 * Logs that a target executes another program and stays one: `next` is its new incarnation. What
 * was logged of `before` is `next`'s from now on.
 */
void target_log_exec(struct target_log *log, struct target *before, struct target *next);

/* Notes in which container the target is sampled, if that is new: it, or its name, has become
 * known.
 */
void target_log_container(struct target_log *log, struct target *target);

/* Logs how many had no line. */
void target_log_rest(struct target_log *log);
