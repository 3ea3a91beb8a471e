/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The feature /proc: what each process of the host costs, present and past. It reads all processes
 * when somebody asks, and each report period; what the kernel counts itself costs nothing at a
 * switch, a fault or a call. Loop thread only.
 */
#pragma once

#include "costs/cost_series.h"
#include "costs/cost_table.h"
#include "engine/engine.h"
#include "hooks/tracer_costs.h"
#include "select/spec.h"

struct accounting;
struct cost_wait;

#define COST_WAITS_MAX 16 /* answers and measurements at once */

struct accounting_setup {
	struct loop *loop;
	struct engine *engine;
	struct worker *worker;	     /* reads all processes */
	struct proc_params defaults; /* until the first spec */
};

/* Creates it, stopped; the caller owns *ret. Returns 0 or -ENOMEM. */
int accounting_new(struct accounting **ret, const struct accounting_setup *setup);
/* Frees it. The worker has ended. */
void accounting_free(struct accounting *accounting);

/* Applies `spec`. Returns 0, or a negative errno and a sentence in `why`; then nothing has changed.
 */
int accounting_apply(struct accounting *accounting, const struct spec *spec, struct why *why);

/* Returns the last spec it was given, or NULL. */
const struct spec *accounting_spec(const struct accounting *accounting);

/* Returns "running", "arming" (before its first reading) or "stopped". */
const char *accounting_state(const struct accounting *accounting, enum cost_probe probe);

/* What an answer is of. */
struct cost_answer {
	const struct cost_table *table;
	const struct cost_rows *rows; /* put together */
	uint64_t from_ns;	      /* ns since 1970 */
	enum cost_group by;
	bool without_interrupts, without_steal; /* of processes' times */
	uint64_t known;				/* values that are counted: 1 << enum cost */
	struct costs_lost lost;			/* since it runs */
	/* since when programs of ours count, ns since 1970; 0: they don't */
	uint64_t counted_from_ns[COST_COUNTERS];
	uint64_t counts_lost[COST_COUNTERS];
	const char *absent; /* what isn't counted of the probe, and why; NULL: nothing */
};

struct cost_asking {
	enum cost_probe probe; /* whose values are wanted */
	unsigned seconds;      /* of a measurement; 0: since the start */
	unsigned times;	       /* measurements, one behind the other; 0: until they are cancelled */
	int by;		       /* enum cost_group; negative: as the spec says */
	/*
	 * Gets 0 and an answer, borrowed during the call; or a negative errno, which ends the
	 * asking: -ENOENT if it doesn't run. Must not cancel the asking.
	 */
	void (*done)(void *arg, int error, const struct cost_answer *answer);
	void *arg;
};

/*
 * Reads what processes have cost, later or at once. A measurement works also while the feature is
 * stopped. *ret is valid until done() has been called for the last time. Returns 0; -ENOENT if it
 * doesn't run; -EBUSY if COST_WAITS_MAX are under way; another negative errno; with a sentence in
 * `why`.
 */
int accounting_read(struct accounting *accounting, const struct cost_asking *asking,
		    struct cost_wait **ret, struct why *why);

/* Ends a wait: done() gets -ECANCELED. */
void cost_wait_cancel(struct cost_wait *wait);
/* Cancels all waits, at the end. */
void accounting_cancel_waits(struct accounting *accounting);

/* What has been counted since the start, as of the last reading. */
struct last_costs {
	const struct cost_table *table;	  /* borrowed; NULL: it doesn't run */
	struct cost_rows rows;		  /* by container; one is of none */
	struct cost_row sum;		  /* of all */
	struct cost_more sum_more;	  /* its room */
	const struct cost_series *series; /* of single processes, borrowed */
	uint64_t known;			  /* values that are counted: 1 << enum cost */
};
void last_costs_done(struct last_costs *last);

/* Fills in *last, with series of `most` processes, and has all processes read anew for the next
 * time. */
void accounting_last(struct accounting *accounting, size_t most, struct last_costs *last);

void accounting_stats(const struct accounting *accounting, struct cost_table_stats *stats);
