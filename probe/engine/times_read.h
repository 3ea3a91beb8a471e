/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads what processes have had of their CPUs from the kernel into the table that keeps it. */
#pragma once

#include "target/target.h"
#include "probes/times.h"
#include "kernel/tracer.h"

/* Of those that are known to match; at most once a second, for all threads of the host are walked.
 * Nothing happens while the scheduler's programs aren't loaded; -ENOMEM, negative errno: what was
 * read before stands. */
int times_read(struct times_table *table, struct tracer *tracer, const struct targets *targets);
