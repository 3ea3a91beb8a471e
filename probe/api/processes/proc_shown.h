/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of an answer of /proc is shown, in which order; for proc_output.c and proc_table.c. Pure
 * functions. */
#pragma once

#include "api/processes/proc_output.h"

#define PAIRS_SHOWN 20

/* Rows in the order in which they are shown, and the rest as one. */
struct shown_rows {
	struct cost_row *all; /* owned */
	size_t count;
	struct cost_row others, sum;
	struct cost_more others_more, sum_more; /* their room */
	bool has_others;
};

/* Sorts the rows that have any of the values. Without memory there are none. The caller frees
 * shown->all. */
void choose_rows(struct shown_rows *shown, const struct cost_answer *answer,
		 const struct proc_choice *choice);

/* Returns the values of the probe that are counted, 1 << enum cost. */
uint64_t shown_values(const struct cost_answer *answer, const struct proc_choice *choice);

/* What two values say together, of the probes that show them. */
struct shown_rate {
	const char *name;
	double value; /* negative: it isn't counted */
};
#define RATES_MAX 4

/* Fills in the rates of a row that shows these values (1 << enum cost). Returns how many. */
unsigned shown_rates(const struct cost_row *row, uint64_t values,
		     struct shown_rate rates[RATES_MAX]);

/* Returns since when the probe's values count, ns since 1970. */
uint64_t shown_from(const struct cost_answer *answer, const struct proc_choice *choice);

/* The pairs with the most wake-ups, and the names of who they are. */
struct shown_pairs {
	struct keyed_count *all; /* owned; NULL: no memory */
	size_t count;
	struct cost_name_of names[2 * PAIRS_SHOWN]; /* of all[i]: 2 * i, 2 * i + 1 */
	uint64_t others;			    /* wake-ups of the other pairs */
};

/* Sorts who has woken whom, the most often first. The caller frees shown->all. */
void choose_pairs(struct shown_pairs *shown, const struct cost_answer *answer);

/* Writes an answer as a table for people (proc_table.c). */
void proc_table(struct buf *out, const struct cost_answer *answer,
		const struct proc_choice *choice);
