/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads processes' CPU times from the kernel's side into their table. Loop thread only. */
#pragma once

#include "target/target.h"
#include "hooks/times.h"
#include "kernel/tracer.h"

/*
 * Reads the times of processes known to match, at most once a second, as all threads of the host
 * are walked. Returns 0, also while the scheduler's programs aren't loaded; -ENOMEM or another
 * negative errno: the reading before stands.
 */
int times_read(struct times_table *table, struct tracer *tracer, const struct targets *targets);
