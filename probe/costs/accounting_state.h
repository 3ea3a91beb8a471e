/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to accounting.c and cost_waits.c: the feature's state, and what waits for answers need of
 * it. */
#pragma once

#include "costs/accounting.h"
#include "costs/counting.h"

struct cost_wait {
	struct accounting *accounting;
	struct cost_asking asking;
	uint64_t of_reading;	 /* it is served by this one or a later one */
	bool wants_reading;	 /* else its time runs */
	bool has_before;	 /* its time has begun */
	struct cost_rows before; /* of a measurement */
	struct loop_timer end;
};

struct accounting {
	struct accounting_setup setup;
	struct spec wanted;
	bool told;

	struct cost_table *table; /* NULL: nothing runs */
	bool is_reading;
	uint64_t readings; /* number of those that were started */
	uint64_t read_ns,
		real_ns; /* when the last one that ended began: CLOCK_MONOTONIC; since 1970 */
	uint64_t began_ns, began_real_ns; /* the one under way */
	int error;			  /* of the last one */

	struct counting counting; /* what programs of ours count */
	/* of the reading under way: since when these counted, and the processes that had ended */
	uint64_t counted_from_ns[COST_COUNTERS], ends;
	struct unseen_ends unseen; /* by the last reading */
	struct energy *energy;	   /* NULL: the host has no counters of it */
	/* processes whose command lines hung a reading; the oldest is forgotten first */
	struct cost_counter_key hung[COST_HUNG_MAX];
	size_t hung_count; /* so far */

	bool has_base; /* what was before the start is known */
	struct cost_rows base;
	struct cost_series series; /* of /metrics */
	struct loop_timer period, energy_period;
	struct cost_wait *waits[COST_WAITS_MAX];
};

/* Loads what reads, unless that is done. Returns 0, or a negative errno and a sentence in `why`. */
int accounting_turn_on(struct accounting *accounting, struct why *why);

/* Has what these probes need counted. Returns the same. */
int accounting_start_counters(struct accounting *accounting, uint32_t probes, struct why *why);

/* Turns off what nobody wants any more. */
void accounting_settle(struct accounting *accounting);

bool accounting_is_running(const struct accounting *accounting);

/* Begins a reading, unless one is under way: accounting_serve_waits() is called at its end. */
void accounting_begin_reading(struct accounting *accounting);
void accounting_serve_waits(struct accounting *accounting);

/* Copy all rows, and the host's energy; and what has been counted since `before`, put together
 * (`with_idle`: cost_rows_subtract()). The
 * caller calls cost_rows_done() in any case. Return 0 or -ENOMEM. */
int accounting_copy_rows(const struct accounting *accounting, struct cost_rows *rows);
int accounting_copy_since(const struct accounting *accounting, const struct cost_rows *before,
			  enum cost_group by, bool with_idle, struct cost_rows *rows);
