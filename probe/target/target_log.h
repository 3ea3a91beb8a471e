/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log of targets: a line for each process that becomes a target of probes or stops being one. The
 * rate is limited: where many come and go, most are only counted, and the count is logged. At level
 * debug each has a line. Loop thread only.
 */
#pragma once

#include "loop/rate.h"
#include "target/target_table.h"

struct target_log {
	struct rate rate;
	uint64_t added, removed; /* not logged, and not yet in a logged count */
};

void target_log_init(struct target_log *log);

/*
 * Logs that the target is sampled for these probes (struct target_value.probes; 0: none) from now
 * on, if that is new.
 */
void target_log_probes(struct target_log *log, struct target *target, uint32_t probes);

/* Logs how many had no line. */
void target_log_rest(struct target_log *log);
