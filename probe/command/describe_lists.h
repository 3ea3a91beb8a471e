/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of probes and of parameters, as doc/ has them: tables in Markdown. Any thread. */
#pragma once

#include "base/buf.h"

/* Writes a line for each probe: its name, title, units, and what it needs (doctor's names). */
void describe_probes(struct buf *out);

/* Write a line for each parameter of /flamegraph, of /sched, of /proc. */
void describe_params(struct buf *out);
void describe_sched_params(struct buf *out);
void describe_proc_params(struct buf *out);
