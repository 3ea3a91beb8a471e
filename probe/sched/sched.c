// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "sched/sched_state.h"

uint64_t sched_time_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int sched_new(struct sched **ret, const struct sched_setup *setup)
{
	struct sched *sched = calloc(1, sizeof(*sched));

	if (!sched)
		return -ENOMEM;
	sched->setup = *setup;
	sched->wanted.params.sched = setup->defaults;
	sched->report = (struct loop_timer){.expired = sched_report, .arg = sched, .name = "sched"};
	engine_on_slow(setup->engine, sched_on_slow, sched);
	*ret = sched;
	return 0;
}

void sched_free(struct sched *sched)
{
	if (!sched)
		return;
	sched_report_stop(sched);
	engine_on_slow(sched->setup.engine, NULL, NULL);
	if (sched->subscriber) {
		tracer_hists_stop(engine_tracer(sched->setup.engine));
		engine_unsubscribe(sched->setup.engine, sched->subscriber);
	}
	for (int i = 0; i < SCHED_COUNT; i++) {
		sched_data_done(&sched->probes[i].kept);
		slow_log_free(sched->probes[i].log);
	}
	if (sched->told)
		spec_done(&sched->wanted);
	free(sched);
}

/* ---- applying the spec ---- */

static void choose_settings(const struct sched *sched, struct sched_hists_settings *settings)
{
	const struct sched_params *params = &sched->wanted.params.sched;

	*settings = (struct sched_hists_settings){
		.everybody = !sched->told || snoopers_empty(sched->wanted.snoopers),
		.slow_ns = params->latency_thr_ms == SCHED_THR_UNSET
				   ? (uint64_t)params->min_us * 1000
				   : (uint64_t)params->latency_thr_ms * NS_PER_MS,
		.groups_max = HISTS_MAX,
	};
	for (int i = 0; i < SCHED_COUNT; i++) {
		if (sched_form(i) == SCHED_HIST)
			settings->group_by[i] = (enum group_by)params->group_by;
	}
}

static bool settings_equal(const struct sched_hists_settings *a,
			   const struct sched_hists_settings *b)
{
	return a->everybody == b->everybody && a->slow_ns == b->slow_ns &&
	       memcmp(a->group_by, b->group_by, sizeof(a->group_by)) == 0;
}

/* Keeps what was counted for a PUT, to be readable after the probe's end. */
static void keep_counts(struct sched *sched, uint32_t probes)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		struct sched_probe_state *state = &sched->probes[i];
		struct sched_data data = {0};

		if (!(probes & 1u << i))
			continue;
		if (sched_read_now(sched, i, &data) < 0) {
			log_error("sched: what %s has counted can't be read at its end",
				  sched_kind_get(i)->name);
			sched_data_done(&data);
			continue;
		}
		sched_data_done(&state->kept);
		state->kept = data;
		state->is_kept = true;
	}
}

/* Notes that these probes begin at zero. */
static void begin_probes(struct sched *sched, uint32_t probes)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		struct sched_probe_state *state = &sched->probes[i];

		if (!(probes & 1u << i))
			continue;
		state->since_ns = sched_time_ns();
		state->since_event = sched_next_event(sched, i);
		state->generation++;
		state->failure.text[0] = '\0';
		state->reported = (union sched_sum){0};
	}
}

/*
 * Subscribes, or ends that: the tracer runs and follows processes as long as somebody is
 * subscribed.
 */
static int renew_subscription(struct sched *sched, struct why *why)
{
	const struct subscription subscription = {.feature = FEATURE_SCHED, .probes = WANTED_SCHED};
	struct engine *engine = sched->setup.engine;
	struct snoopers *snoopers = sched->told ? sched->wanted.snoopers : NULL;
	int r = engine_set_snoopers(engine, FEATURE_SCHED,
				    snoopers && !snoopers_empty(snoopers) ? snoopers : NULL);

	if (r < 0) {
		why_set(why, "/proc can't be read: %s", strerror(-r));
		return r;
	}
	return sched->subscriber ? 0
				 : engine_subscribe(engine, &subscription, &sched->subscriber, why);
}

static void stop_probes(struct sched *sched)
{
	if (!sched->subscriber)
		return;
	tracer_hists_stop(engine_tracer(sched->setup.engine));
	engine_unsubscribe(sched->setup.engine, sched->subscriber);
	sched->subscriber = NULL;
	sched->on = sched->tried = 0;
}

/* Turns on those of the probes that can run here. Fails if none can. */
static int turn_on_each(struct sched *sched, struct sched_hists_settings *settings, uint32_t probes)
{
	struct tracer *tracer = engine_tracer(sched->setup.engine);
	uint32_t good = 0;

	for (int i = 0; i < SCHED_COUNT; i++) {
		struct why *failure = &sched->probes[i].failure;

		if (!(probes & 1u << i))
			continue;
		settings->probes = good | 1u << i;
		if (tracer_hists(tracer, settings, failure) < 0)
			log_warn("%s can't run: %s", sched_kind_get(i)->name, failure->text);
		else
			good |= 1u << i;
	}
	settings->probes = good;
	return good ? tracer_hists(tracer, settings, NULL) : -ENOTSUP;
}

/* Makes the logs of those of the probes that have events. Returns 0 or -ENOMEM. */
static int make_logs(struct sched *sched, uint32_t probes)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		struct sched_probe_state *state = &sched->probes[i];

		if (!(probes & sched_probes_of(SCHED_EVENTS) & 1u << i) || state->log)
			continue;
		state->log = calloc(1, sizeof(*state->log));
		if (!state->log)
			return -ENOMEM;
	}
	return 0;
}

/* *again: probes that were on have begun at zero, too. */
static int turn_on(struct sched *sched, struct sched_hists_settings *settings, uint32_t probes,
		   bool *again, struct why *why)
{
	struct tracer *tracer = engine_tracer(sched->setup.engine);

	int r = make_logs(sched, probes);

	if (r < 0) {
		why_set(why, "no memory");
		return r;
	}
	*again = false;
	settings->probes = probes;
	r = tracer_hists(tracer, settings, why);
	if (r == 0)
		return r;
	*again = true;
	return turn_on_each(sched, settings, probes) < 0 ? r : 0;
}

/* Returns which probes that stay on begin at zero. */
static uint32_t regrouped_probes(const struct sched *sched,
				 const struct sched_hists_settings *settings)
{
	uint32_t probes = 0;

	if (settings->everybody != sched->applied.everybody)
		probes = sched->on & ~sched_probes_at(CPU_LOOKED_AT); /* of no process */
	for (int i = 0; i < SCHED_COUNT; i++) {
		if (settings->group_by[i] != sched->applied.group_by[i])
			probes |= sched->on & 1u << i;
	}
	return probes;
}

static void log_probes(const struct sched *sched, uint32_t probes, const char *what)
{
	char names[SCHED_COUNT * (SCHED_NAME_BYTES + 2)] = "";
	size_t len = 0;

	for (int i = 0; i < SCHED_COUNT; i++) {
		if (probes & 1u << i)
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? ", " : "", sched_kind_get(i)->name);
	}
	if (probes)
		log_info("sched %s: %s%s", what, names,
			 sched->applied.everybody ? ", of all processes" : "");
}

/* Turns the probes on again, from zero, that were on before a failure. */
static void fall_back(struct sched *sched)
{
	struct why why;

	sched->applied.probes = sched->on;
	if (sched->on &&
	    tracer_hists(engine_tracer(sched->setup.engine), &sched->applied, &why) == 0) {
		begin_probes(sched, sched->on);
		return;
	}
	if (sched->on)
		log_error("sched: what ran before can't go on: %s", why.text);
	stop_probes(sched);
}

/* Turns these probes on, as `settings` say. */
static int change_probes(struct sched *sched, struct sched_hists_settings *settings,
			 uint32_t probes, struct why *why)
{
	uint32_t before = sched->on, again = regrouped_probes(sched, settings);
	bool all_again;
	int r = renew_subscription(sched, why);

	if (r < 0 || (probes == sched->tried && settings_equal(settings, &sched->applied)))
		return r;
	r = turn_on(sched, settings, probes, &all_again, why);
	if (r < 0) {
		fall_back(sched);
		return r;
	}
	sched->tried = probes;
	sched->on = settings->probes;
	sched->applied = *settings;
	begin_probes(sched, sched->on & (all_again ? UINT32_MAX : ~before | again));
	return 0;
}

int sched_reconcile(struct sched *sched, struct why *why)
{
	uint32_t asked = sched->told && sched->wanted.running ? sched->wanted.probes : 0;
	uint32_t probes = asked | sched_waited(sched);
	uint32_t ran = sched->on & sched->configured;
	struct sched_hists_settings settings;

	choose_settings(sched, &settings);
	keep_counts(sched, ran & ~asked);
	if (probes) {
		int r = change_probes(sched, &settings, probes, why);
		if (r < 0)
			return r;
	} else {
		stop_probes(sched);
	}
	uint32_t run = sched->on & asked;
	log_probes(sched, ran & ~run, "stopped");
	log_probes(sched, run & ~ran, "started");
	sched->configured = asked;
	sched_wake_followers(sched); /* it may be the end of their events */
	if (run)
		sched_report_start(sched);
	else
		sched_report_stop(sched);
	return 0;
}

int sched_apply(struct sched *sched, const struct spec *spec, struct why *why)
{
	struct spec before = sched->wanted;
	bool told = sched->told;
	struct why undone;

	spec_copy(&sched->wanted, spec);
	sched->told = true;
	/* The same choice again disturbs nothing: not even a look at all processes. */
	if (told && snoopers_equal(before.snoopers, spec->snoopers)) {
		snoopers_unref(sched->wanted.snoopers);
		sched->wanted.snoopers = snoopers_ref(before.snoopers);
	}
	int r = sched_reconcile(sched, why);
	if (r < 0) {
		spec_done(&sched->wanted);
		sched->wanted = before;
		sched->told = told;
		if (sched->subscriber && renew_subscription(sched, &undone) < 0)
			log_error("sched: the processes chosen before can't be chosen again: %s",
				  undone.text);
		return r;
	}
	if (told)
		spec_done(&before);
	return 0;
}

/* ---- answers ---- */

const struct spec *sched_spec(const struct sched *sched)
{
	return sched->told ? &sched->wanted : NULL;
}

const char *sched_state(const struct sched *sched, enum sched_probe probe, const char **why)
{
	*why = "";
	if (!(sched->configured & 1u << probe))
		return "stopped";
	if (sched->on & 1u << probe)
		return "running";
	*why = sched->probes[probe].failure.text;
	return "unsupported";
}

int sched_read_now(struct sched *sched, enum sched_probe probe, struct sched_data *data)
{
	const struct sched_probe_state *state = &sched->probes[probe];

	*data = (struct sched_data){
		.probe = probe,
		.group_by = sched->applied.group_by[probe],
		.from_ns = state->since_ns,
		.until_ns = sched_time_ns(),
		.slow_ns = sched->applied.slow_ns,
	};
	if (sched_form(probe) == SCHED_EVENTS) {
		tracer_read_slow(engine_tracer(sched->setup.engine));
		return sched_slow_events(sched, data, state->since_event);
	}
	return sched_data_read(data, engine_tracer(sched->setup.engine));
}

int sched_read(struct sched *sched, enum sched_probe probe, struct sched_data *fresh,
	       const struct sched_data **data)
{
	const struct sched_probe_state *state = &sched->probes[probe];

	*fresh = (struct sched_data){0};
	*data = fresh;
	if (sched->on & sched->configured & 1u << probe)
		return sched_read_now(sched, probe, fresh);
	*data = &state->kept;
	return state->is_kept ? 0 : -ENOENT;
}
