// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sched/sched_state.h"

struct sched_wait {
	struct sched *sched;
	enum sched_probe probe;
	uint64_t generation; /* the probe's, when it began */
	uint64_t from_event;
	struct sched_data before;
	struct loop_timer end;
	void (*done)(void *arg, int error, const struct sched_data *data);
	void *arg;
};

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
	sched_data_done(&wait->before);
	free(wait);
	if (sched_reconcile(sched, &why) < 0)
		log_error("sched: %s", why.text);
}

static void finish_wait(struct sched_wait *wait, int error, const struct sched_data *data)
{
	void (*done)(void *arg, int error, const struct sched_data *data) = wait->done;
	void *arg = wait->arg;

	forget_wait(wait);
	done(arg, error, data);
}

static int read_since(struct sched_wait *wait, struct sched_data *data)
{
	struct sched *sched = wait->sched;

	if (sched->probes[wait->probe].generation != wait->generation)
		return -ESTALE;
	data->slow_ns = sched->applied.slow_ns;
	data->group_by = sched->applied.group_by[wait->probe];
	data->until_ns = sched_time_ns();
	if (sched_form(wait->probe) == SCHED_EVENTS)
		return sched_slow_events(sched, data, wait->from_event);
	int r = sched_data_read(data, engine_tracer(sched->setup.engine));
	if (r == 0)
		sched_data_subtract(data, &wait->before);
	return r;
}

static void time_is_over(void *arg)
{
	struct sched_wait *wait = arg;
	_cleanup_sched_data_ struct sched_data data = {.probe = wait->probe,
						       .from_ns = wait->before.from_ns};
	int r = read_since(wait, &data);

	finish_wait(wait, r, &data);
}

/* Starts the time, when the probe is on. */
static int begin_wait(struct sched_wait *wait, unsigned seconds)
{
	struct sched *sched = wait->sched;
	int r = sched_data_read(&wait->before, engine_tracer(sched->setup.engine));

	wait->generation = sched->probes[wait->probe].generation;
	wait->from_event = sched->log ? sched->log->next : 0;
	wait->before.from_ns = sched_time_ns();
	loop_timer_set(sched->setup.loop, &wait->end, loop_now_ns() + seconds * NS_PER_S);
	return r;
}

int sched_wait(struct sched *sched, enum sched_probe probe, unsigned seconds,
	       void (*done)(void *arg, int error, const struct sched_data *data), void *arg,
	       struct sched_wait **ret, struct why *why)
{
	int place = 0;

	while (place < SCHED_WAITS_MAX && sched->waits[place])
		place++;
	if (place == SCHED_WAITS_MAX) {
		why_set(why, "%d measurements of some seconds run already", SCHED_WAITS_MAX);
		return -EBUSY;
	}
	why_set(why, "no memory");
	struct sched_wait *wait = calloc(1, sizeof(*wait));
	if (!wait)
		return -ENOMEM;
	*wait = (struct sched_wait){.sched = sched,
				    .probe = probe,
				    .before = {.probe = probe},
				    .done = done,
				    .arg = arg};
	wait->end = (struct loop_timer){.expired = time_is_over, .arg = wait, .name = "sched"};
	sched->waits[place] = wait;
	int r = sched_reconcile(sched, why);
	if (r == 0 && !(sched->on & 1u << probe)) {
		*why = sched->probes[probe].failure;
		r = -ENOTSUP;
	}
	if (r == 0) {
		r = begin_wait(wait, seconds);
		if (r < 0)
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
			probes |= 1u << sched->waits[i]->probe;
	}
	return probes;
}
