/* SPDX-License-Identifier: GPL-2.0-only */
/* What a probe of /sched has measured, as text for people and as JSON (doc/sched.md). */
#pragma once

#include "base/buf.h"
#include "sched/sched_data.h"

/* Charts, one for each group; runqslower: a table. */
void sched_text(struct buf *out, const struct sched_data *data);
void sched_json(struct buf *out, const struct sched_data *data);

/* The table's head, and a line of it. */
void sched_text_slow_head(struct buf *out);
void sched_text_slow(struct buf *out, const struct slow_entry *entry);
