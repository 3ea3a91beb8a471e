/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A line in the log for each process that becomes a target of probes or stops being one. Where many
 * come and go, most are only counted, and the count is said; log level debug has a line for each.
 */
#pragma once

#include "base/rate.h"
#include "target/target_table.h"

struct target_log {
	struct rate rate;
	uint64_t added, removed; /* without a line, and not said yet */
};

void target_log_init(struct target_log *log);

/* It is sampled for these (struct target_value.probes) from now on (0: for none), as far as that is
 * new. */
void target_log_probes(struct target_log *log, struct target *target, uint32_t probes);

/* Says how many had no line. */
void target_log_rest(struct target_log *log);
