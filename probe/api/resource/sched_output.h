/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes what a probe of /sched has measured, as text for people and as JSON (doc/sched.md). Pure
 * functions.
 */
#pragma once

#include "base/buf.h"
#include "sched/sched_data.h"

/* Write a chart for each group, or a table of the events; write JSON. */
void sched_text(struct buf *out, const struct sched_data *data);
void sched_json(struct buf *out, const struct sched_data *data);

/* Write the head of the table, and a line of it. */
void sched_text_slow_head(struct buf *out, enum sched_probe probe);
void sched_text_slow(struct buf *out, const struct slow_entry *entry);
