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

/* How an answer is written. */
struct proc_form {
	const char *extension, *type; /* with the dot; of HTTP */
	void (*write)(struct buf *out, const struct cost_answer *answer,
		      const struct proc_choice *choice);
	bool is_json;	  /* JSON, or lines of JSON */
	bool is_document; /* one JSON document, which may have line feeds */
};

/* Returns the form of an extension (".json", any case), or NULL. */
const struct proc_form *proc_form_find(const char *extension);
