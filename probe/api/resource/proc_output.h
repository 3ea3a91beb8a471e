/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes what processes cost, as a table for people, as JSON, and as JSON of a row a line
 * (doc/proc.md). Pure functions. */
#pragma once

#include "base/buf.h"
#include "costs/accounting.h"

/* What of an answer is shown. */
struct proc_choice {
	enum cost_probe probe;
	enum cost by; /* rows are sorted by that value, the largest first */
	size_t top;   /* rows; the others are one row, "others" */
};

void proc_text(struct buf *out, const struct cost_answer *answer, const struct proc_choice *choice);
void proc_json(struct buf *out, const struct cost_answer *answer, const struct proc_choice *choice);
void proc_jsonl(struct buf *out, const struct cost_answer *answer,
		const struct proc_choice *choice);
