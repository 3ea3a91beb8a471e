// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sched/sched_state.h"

struct sched_wait {
	struct sched *sched;
	struct sched_asking asking;
	unsigned ended;	     /* measurements that are over */
	uint64_t scaled;     /* number of the scaled measurement */
	uint64_t refused;    /* what had found no room when it began */
	uint64_t generation; /* the probe's, when it began */
	uint64_t from_event;
	struct sched_data before;
	struct loop_timer end;
};

static bool is_stale(const struct sched_wait *wait)
{
	return wait->sched->probes[wait->asking.probe].generation != wait->generation;
}

/* Frees a measurement; the probe is turned off if nobody else wants it. */
static void forget_wait(struct sched_wait *wait)
{
	struct sched *sched = wait->sched;
	struct why why;

	for (int i = 0; i < SCHED_WAITS_MAX; i++) {
		if (sched->waits[i] == wait)
			sched->waits[i] = NULL;
	}
	loop_timer_cancel(sched->setup.loop, &wait->end);
	if (wait->asking.scale.unit_us)
		tracer_scaled_end(engine_tracer(sched->setup.engine), wait->scaled);
	sched_data_done(&wait->before);
	free(wait);
	if (sched_reconcile(sched, &why) < 0)
		log_error("sched: %s", why.text);
}

static void finish_wait(struct sched_wait *wait, int error, const struct sched_data *data)
{
	struct sched_asking asking = wait->asking;

	forget_wait(wait);
	asking.done(asking.arg, error, data);
}

/* Returns what found no room since the daemon's start. */
static uint64_t refused_now(const struct sched_wait *wait)
{
	struct counters counters;

	tracer_counters(engine_tracer(wait->sched->setup.engine), &counters);
	return sched_form(wait->asking.probe) == SCHED_EVENTS ? counters.slow_lost
							      : counters.hists_refused;
}

static int read_all(const struct sched_wait *wait, struct sched_data *data)
{
	struct tracer *tracer = engine_tracer(wait->sched->setup.engine);

	return wait->asking.scale.unit_us ? sched_data_read_scaled(data, tracer, wait->scaled)
					  : sched_data_read(data, tracer);
}

/* Reads what the kernel's side has counted, and keeps it for the next measurement. */
static int read_counts(struct sched_wait *wait, struct sched_data *data)
{
	struct sched_data all = {.probe = data->probe};
	int r = read_all(wait, data);

	if (r == 0)
		r = sched_data_copy(&all, data);
	if (r < 0)
		return r;
	sched_data_subtract(data, &wait->before);
	sched_data_done(&wait->before);
	wait->before = all;
	return 0;
}

static int read_events(struct sched_wait *wait, struct sched_data *data)
{
	tracer_read_slow(engine_tracer(wait->sched->setup.engine)); /* what is under way */
	int r = sched_slow_events(wait->sched, data, wait->from_event);

	wait->from_event = sched_next_event(wait->sched, data->probe);
	return r;
}

static int read_since(struct sched_wait *wait, struct sched_data *data)
{
	struct sched *sched = wait->sched;

	if (is_stale(wait))
		return -ESTALE;
	data->slow_ns = sched->applied.slow_ns;
	data->group_by = sched->applied.group_by[data->probe];
	data->scale = wait->asking.scale;
	data->until_ns = sched_time_ns();
	data->refused = refused_now(wait) - wait->refused;
	wait->refused += data->refused;
	if (sched_form(data->probe) == SCHED_EVENTS)
		return read_events(wait, data);
	return read_counts(wait, data);
}

static void set_end(struct sched_wait *wait, uint64_t from_ns)
{
	loop_timer_set(wait->sched->setup.loop, &wait->end,
		       from_ns + wait->asking.seconds * NS_PER_S);
}

static void time_is_over(void *arg)
{
	struct sched_wait *wait = arg;
	uint64_t ended_ns = wait->end.at_ns;
	_cleanup_sched_data_ struct sched_data data = {.probe = wait->asking.probe,
						       .from_ns = wait->before.from_ns};
	int r = read_since(wait, &data);

	if (r < 0 || ++wait->ended == wait->asking.times) {
		finish_wait(wait, r, &data);
		return;
	}
	wait->before.from_ns = data.until_ns;
	/* A loop that stood still makes no measurements up for it. */
	if (ended_ns + wait->asking.seconds * NS_PER_S < loop_now_ns())
		ended_ns = loop_now_ns();
	set_end(wait, ended_ns);
	wait->asking.done(wait->asking.arg, 0, &data);
}

void sched_wait_finish(struct sched_wait *wait)
{
	wait->asking.times = wait->ended + 1;
	time_is_over(wait);
}

static int begin_scaled(struct sched_wait *wait)
{
	const struct sched_scale *asked = &wait->asking.scale;
	const struct hist_scale scale = {
		.probe = wait->asking.probe,
		.unit_ns = 1000ULL * asked->unit_us * (asked->step ? asked->step : 1),
		.powers = !asked->step,
	};

	return tracer_scaled_begin(engine_tracer(wait->sched->setup.engine), &scale, &wait->scaled);
}

/* Starts the time, when the probe is on. */
static int begin_wait(struct sched_wait *wait)
{
	struct sched *sched = wait->sched;
	int r;

	if (wait->asking.scale.unit_us)
		r = begin_scaled(wait);
	else
		r = sched_data_read(&wait->before, engine_tracer(sched->setup.engine));
	wait->generation = sched->probes[wait->asking.probe].generation;
	if (sched_form(wait->asking.probe) == SCHED_EVENTS)
		tracer_read_slow(engine_tracer(sched->setup.engine)); /* those are older */
	wait->from_event = sched_next_event(sched, wait->asking.probe);
	wait->refused = refused_now(wait);
	wait->before.from_ns = sched_time_ns();
	set_end(wait, loop_now_ns());
	return r;
}

static struct sched_wait *make_wait(struct sched *sched, const struct sched_asking *asking)
{
	struct sched_wait *wait = calloc(1, sizeof(*wait));

	if (!wait)
		return NULL;
	*wait = (struct sched_wait){
		.sched = sched, .asking = *asking, .before = {.probe = asking->probe}};
	wait->end = (struct loop_timer){.expired = time_is_over, .arg = wait, .name = "sched"};
	return wait;
}

int sched_wait(struct sched *sched, const struct sched_asking *asking, struct sched_wait **ret,
	       struct why *why)
{
	int place = 0;

	while (place < SCHED_WAITS_MAX && sched->waits[place])
		place++;
	if (place == SCHED_WAITS_MAX) {
		why_set(why, "%d measurements of some seconds run already", SCHED_WAITS_MAX);
		return -EBUSY;
	}
	why_set(why, "no memory");
	struct sched_wait *wait = make_wait(sched, asking);
	if (!wait)
		return -ENOMEM;
	sched->waits[place] = wait;
	int r = sched_reconcile(sched, why);
	if (r == 0 && !(sched->on & 1u << asking->probe)) {
		*why = sched->probes[asking->probe].failure;
		r = -ENOTSUP;
	}
	if (r == 0) {
		r = begin_wait(wait);
		if (r == -EBUSY)
			why_set(why, "%d measurements with a unit or step run already", SCALED_MAX);
		else if (r < 0)
			why_set(why, "its counts can't be read");
	}
	if (r < 0)
		forget_wait(wait);
	else
		*ret = wait;
	return r;
}

void sched_wait_cancel(struct sched_wait *wait)
{
	finish_wait(wait, -ECANCELED, NULL);
}

void sched_cancel_waits(struct sched *sched)
{
	for (int i = 0; i < SCHED_WAITS_MAX; i++) {
		if (sched->waits[i])
			sched_wait_cancel(sched->waits[i]);
	}
}

uint32_t sched_waited(const struct sched *sched)
{
	uint32_t probes = 0;

	for (int i = 0; i < SCHED_WAITS_MAX; i++) {
		if (sched->waits[i])
			probes |= 1u << sched->waits[i]->asking.probe;
	}
	return probes;
}
