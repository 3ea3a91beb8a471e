// SPDX-License-Identifier: GPL-2.0-or-later
/* Who waits for an answer: of all since the start, or of the next seconds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "costs/accounting_state.h"

static void forget_wait(struct cost_wait *wait)
{
	struct accounting *accounting = wait->accounting;

	for (int i = 0; i < COST_WAITS_MAX; i++) {
		if (accounting->waits[i] == wait)
			accounting->waits[i] = NULL;
	}
	loop_timer_cancel(accounting->setup.loop, &wait->end);
	cost_rows_done(&wait->before);
	free(wait);
}

static void finish_wait(struct cost_wait *wait, int error, const struct cost_answer *answer)
{
	struct cost_asking asking = wait->asking;

	forget_wait(wait);
	asking.done(asking.arg, error, answer);
}

/* Answers with what has been counted since `before`. Returns whether the wait goes on. */
static bool answer_wait(struct cost_wait *wait, const struct cost_rows *before)
{
	bool more = wait->asking.seconds && (!wait->asking.times || --wait->asking.times);
	struct accounting *accounting = wait->accounting;
	struct cost_rows rows;
	struct cost_answer answer = {
		.table = accounting->table,
		.rows = &rows,
		.from_ns = before->time_ns,
		.by = wait->asking.by < 0 ? (enum cost_group)accounting->wanted.params.proc.group_by
					  : (enum cost_group)wait->asking.by,
		.known = tracer_costs_known(engine_tracer(accounting->setup.engine)),
		.absent = counting_absent(accounting->counting.tracer, wait->asking.probe),
	};
	int r = accounting_copy_since(accounting, before, answer.by, wait->asking.probe == PROC_ALL,
				      &rows);

	tracer_costs_kinds(engine_tracer(accounting->setup.engine), &answer.without_interrupts,
			   &answer.without_steal);
	tracer_costs_lost(engine_tracer(accounting->setup.engine), &answer.lost);
	for (int i = 0; i < COST_COUNTERS; i++) {
		answer.counted_from_ns[i] = accounting->counting.from_ns[i];
		answer.counts_lost[i] = tracer_counter_lost(engine_tracer(accounting->setup.engine),
							    (enum cost_counter)i);
	}
	more = more && r == 0;
	if (more)
		wait->asking.done(wait->asking.arg, 0, &answer);
	else
		finish_wait(wait, r, r == 0 ? &answer : NULL);
	cost_rows_done(&rows);
	return more;
}

static void time_is_over(void *arg)
{
	struct cost_wait *wait = arg;

	wait->wants_reading = true;
	wait->of_reading = wait->accounting->readings + 1;
	accounting_begin_reading(wait->accounting);
}

static int begin_time(struct cost_wait *wait)
{
	struct accounting *accounting = wait->accounting;

	cost_rows_done(&wait->before);
	wait->before.time_ns = accounting->real_ns;
	int r = accounting_copy_rows(accounting, &wait->before);
	if (r < 0)
		return r;
	wait->has_before = true;
	wait->wants_reading = false;
	loop_timer_set(accounting->setup.loop, &wait->end,
		       accounting->read_ns + wait->asking.seconds * NS_PER_S);
	return 0;
}

/* Goes on with a wait, for which a reading has come. */
static void serve_wait(struct cost_wait *wait)
{
	struct accounting *accounting = wait->accounting;
	int r = accounting->error;

	if (r == 0 && wait->asking.seconds && !wait->has_before) {
		r = begin_time(wait);
		if (r == 0)
			return;
	} else if (r == 0 && wait->asking.seconds) {
		if (!answer_wait(wait, &wait->before))
			return;
		r = begin_time(wait);
		if (r == 0)
			return;
	} else if (r == 0 && accounting->has_base) {
		answer_wait(wait, &accounting->base);
		return;
	}
	finish_wait(wait, r ? r : -ENOENT, NULL);
}

void accounting_serve_waits(struct accounting *accounting)
{
	bool more = false;

	for (int i = 0; i < COST_WAITS_MAX; i++) {
		struct cost_wait *wait = accounting->waits[i];

		if (!wait || !wait->wants_reading)
			continue;
		if (wait->of_reading <= accounting->readings)
			serve_wait(wait);
		else
			more = true;
	}
	if (more)
		accounting_begin_reading(accounting);
}

static struct cost_wait **free_place(struct accounting *accounting)
{
	for (int i = 0; i < COST_WAITS_MAX; i++) {
		if (!accounting->waits[i])
			return &accounting->waits[i];
	}
	return NULL;
}

int accounting_read(struct accounting *accounting, const struct cost_asking *asking,
		    struct cost_wait **ret, struct why *why)
{
	struct cost_wait **place = free_place(accounting);

	if (!place) {
		why_set(why, "%d answers of /proc are under way already", COST_WAITS_MAX);
		return -EBUSY;
	}
	if (!asking->seconds && !accounting_is_running(accounting)) {
		why_set(why,
			"it doesn't run: PUT it with state running first, or ask with seconds=N");
		return -ENOENT;
	}
	int r = accounting_turn_on(accounting, why);
	if (r == 0)
		r = accounting_start_counters(accounting, asking->seconds ? 1u << asking->probe : 0,
					      why);
	if (r < 0) {
		accounting_settle(accounting);
		return r;
	}
	struct cost_wait *wait = calloc(1, sizeof(*wait));
	if (!wait) {
		why_set(why, "no memory");
		accounting_settle(accounting);
		return -ENOMEM;
	}
	*wait = (struct cost_wait){
		.accounting = accounting, .asking = *asking, .wants_reading = true};
	wait->end = (struct loop_timer){.expired = time_is_over, .arg = wait, .name = "proc"};
	*place = *ret = wait;
	wait->of_reading = accounting->readings + 1;
	if (!asking->seconds && accounting->is_reading && !accounting->has_base)
		wait->of_reading = accounting->readings;
	accounting_begin_reading(accounting);
	return 0;
}

void cost_wait_cancel(struct cost_wait *wait)
{
	struct accounting *accounting = wait->accounting;

	finish_wait(wait, -ECANCELED, NULL);
	accounting_settle(accounting);
}

void accounting_cancel_waits(struct accounting *accounting)
{
	for (int i = 0; i < COST_WAITS_MAX; i++) {
		if (accounting->waits[i])
			cost_wait_cancel(accounting->waits[i]);
	}
}
