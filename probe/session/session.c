// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/session_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kind/kind.h"
#include "session/session_events.h"
#include "session/session_params.h"
#include "session/settings.h"

static int reconcile_probes(struct session *session, struct why *why);
static void period_ends(void *arg);
static void close_window(struct session *session, bool parting);

int session_new(struct session **ret, const struct session_setup *setup, struct why *why)
{
	struct session *session = calloc(1, sizeof(*session));

	why_set(why, "no memory");
	if (!session)
		return -ENOMEM;
	session->setup = *setup;
	memset(session->said, 0xff, sizeof(session->said));
	session->period =
		(struct loop_timer){.expired = period_ends, .arg = session, .name = "session"};
	struct cleaner_setup cleaner = {setup->loop, setup->files.foreign, setup->files.roots,
					setup->retention, setup->state_dir};
	struct uploads_setup uploads = {
		.loop = setup->loop,
		.bulk = setup->files.bulk,
		.foreign = setup->files.foreign,
		.lines = engine_lines(setup->engine),
		.options = setup->upload,
		.host = setup->files.host,
	};
	int r = cleaner_new(&session->cleaner, &cleaner);
	if (r == 0)
		r = uploads_new(&session->uploads, &uploads, why);
	if (r < 0) {
		session_free(session);
		return r;
	}
	*ret = session;
	return 0;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	loop_timer_cancel(session->setup.loop, &session->period);
	loop_timer_cancel(session->setup.loop, &session->window);
	session_end_trigger(session);
	if (session->subscriber)
		engine_unsubscribe(session->setup.engine, session->subscriber);
	for (int i = 0; i < PROBE_COUNT; i++) {
		profile_unref(session->previous[i]);
		profile_unref(session->collected[i]);
	}
	uploads_free(session->uploads);
	cleaner_free(session->cleaner);
	if (session->told)
		spec_done(&session->wanted);
	free(session);
}

void session_set_roots(struct session *session, const struct store_roots *roots)
{
	session->setup.files.roots = *roots;
	cleaner_set_roots(session->cleaner, roots);
}

void session_set_state(struct session *session, const char *state_dir)
{
	cleaner_set_state(session->cleaner, state_dir);
}

const struct spec *session_spec(const struct session *session)
{
	return session->told ? &session->wanted : NULL;
}

static void period_read(void *arg)
{
	struct session *session = arg;

	if (session->phase == SESSION_RUNNING || session->phase == SESSION_PARTING)
		session_rotate(session, UINT32_MAX);
}

static void arm_period(struct session *session, uint64_t from_ns)
{
	loop_timer_set(session->setup.loop, &session->period,
		       from_ns + (uint64_t)session->applied.svg_period_s * NS_PER_S);
}

/* Ends the period for which the trigger fired; the session waits again. */
static void end_fired(struct session *session)
{
	struct why why;

	session->trigger.fired = false;
	if (session->phase == SESSION_RUNNING)
		close_window(session, false);
	else if (session->phase == SESSION_STOPPED && reconcile_probes(session, &why) < 0)
		log_error("flamegraph can't wait for its trigger: %s", why.text);
}

static void period_ends(void *arg)
{
	struct session *session = arg;

	if (session->trigger.fired) {
		end_fired(session);
		return;
	}
	arm_period(session, session->period.at_ns); /* from when it was due: no drift */
	engine_drain(session->setup.engine, period_read, session);
}

/* Returns whether the params that are applied make the same profiles and files as these. */
static bool has_params(const struct session *session, const struct params *params)
{
	return params_equal(flamegraph_params(), PARAM_OF_FILES, &session->applied, params);
}

static uint32_t wanted_probes(const struct session *session)
{
	return session->wanted.running && !session_waits(session) ? session->wanted.probes : 0;
}

static void tell_java(struct session *session, const struct params *params)
{
	struct java_wish wish = {
		.source = (enum java_source)params->java_source,
		.jfr_fits = params->multi_instance && !params->native_stack,
		.interval_ns = (uint64_t)params->java_symbol_refresh_interval_s * NS_PER_S,
	};

	engine_set_java(session->setup.engine, session->subscriber, &wish);
}

/* Passes on to the engine those params that it needs. */
static int tell_engine(struct session *session, const struct params *params, struct why *why)
{
	struct engine *engine = session->setup.engine;
	int r = engine_set_period(engine, params_period_ns(params), why);

	engine_set_by_cpu(engine, params->aggregate_by_cpu ? WANTED_STACKS : 0);
	engine_set_max_overhead(engine, (unsigned)params->max_overhead);
	tell_java(session, params);
	for (int probe = 0; probe < PROBE_COUNT && r == 0; probe++) {
		if (!(events_unnamed(params) & 1u << probe)) /* one that ends keeps its values */
			r = engine_set_values(engine, probe, &params->probes[probe], why);
	}
	return r;
}

static void log_probes(uint32_t probes, const char *what)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (probes & 1u << i)
			log_info("%s %s", kind_get(i)->name, what);
	}
}

/* Logs a probe's params that the log tells (struct param.logged), unless it told these values. */
static void log_values(struct session *session, enum probe probe)
{
	union probe_settings *said = &session->said[probe];
	const union probe_settings *values = &session->applied.probes[probe];
	const struct param *row = kind_get(probe)->params;

	if (memcmp(said, values, sizeof(*said)) == 0)
		return;
	*said = *values;
	for (; row && row->name; row++) {
		if (row->logged)
			log_info("%s %s %lld %s", kind_get(probe)->name, row->name,
				 (long long)*param_number(row, values), row->unit);
	}
}

static void log_params(struct session *session)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (subscriber_probes(session->subscriber) & 1u << probe)
			log_values(session, probe);
	}
}

/* Logs once which probes can't run; the graphs lack them, and GET says so. */
static void log_missing(const struct session *session, uint32_t probes)
{
	const char *why;

	for (int i = 0; i < PROBE_COUNT; i++) {
		if (probes & 1u << i && engine_failure(session->setup.engine, i, &why) < 0)
			log_error("%s can't run: %s", kind_get(i)->name, why);
	}
}

static void stop_session(struct session *session)
{
	loop_timer_cancel(session->setup.loop, &session->period);
	log_probes(subscriber_probes(session->subscriber), "disabled");
	engine_unsubscribe(session->setup.engine, session->subscriber);
	session->subscriber = NULL;
	session->phase = SESSION_STOPPED;
	session_arm_window(session, false);
	log_info(session_waits(session) ? "flamegraph samples no more" : "flamegraph stopped");
}

/* Returns the probes (1 << enum probe) that are another event with the params that wait. */
static uint32_t changed_events(const struct session *session)
{
	const struct params *wanted = &session->wanted.params;
	uint32_t probes = 0;

	for (int probe = PROBE_SLOT_FIRST; probe < PROBE_COUNT; probe++) {
		if (memcmp(&session->applied.probes[probe], &wanted->probes[probe],
			   sizeof(wanted->probes[probe])) != 0)
			probes |= 1u << probe;
	}
	return probes;
}

/* Stops events that become other ones: nothing of the earlier ones is in the next window. */
static void hold_events(struct session *session)
{
	engine_hold(session->setup.engine,
		    changed_events(session) & ~events_unnamed(&session->wanted.params));
}

/* Takes over the params. What was collected of an event that is another one now is forgotten. */
static void take_params(struct session *session)
{
	uint32_t changed = changed_events(session);

	for (int probe = PROBE_SLOT_FIRST; probe < PROBE_COUNT; probe++) {
		if (changed & 1u << probe)
			profile_unref(TAKE_PTR(session->previous[probe]));
	}
	session->applied = session->wanted.params;
}

/* Applies the params that waited. */
static void change_params(struct session *session)
{
	struct why why = {0};
	struct stack_detail detail;

	session->failure.text[0] = '\0';
	take_params(session);
	params_detail(&session->applied, &detail);
	subscriber_set_detail(session->subscriber, &detail);
	arm_period(session, loop_now_ns());
	if (tell_engine(session, &session->applied, &why) < 0) {
		log_error("the sampling can't be changed: %s", why.text);
		session->failure = why;
	}
	session_arm_window(session, false);
	log_params(session);
}

/* Continues when the window was read: probes that end, or get other params, get their files. */
static void closed_window(void *arg)
{
	struct session *session = arg;
	struct why why = {0};
	uint32_t leaving = subscriber_probes(session->subscriber) & ~wanted_probes(session);
	enum session_phase before = session->phase;

	session->phase = SESSION_RUNNING;
	engine_set_changing(session->setup.engine, false);
	if (!wanted_probes(session)) {
		session_rotate(session, UINT32_MAX);
		stop_session(session);
	} else if (!has_params(session, &session->wanted.params)) {
		/*
		 * A probe that begins now has that rate from its begin; a failure is reported
		 * below.
		 */
		engine_set_period(session->setup.engine, params_period_ns(&session->wanted.params),
				  &why);
		session_rotate(session, UINT32_MAX);
		change_params(session);
	} else if (before == SESSION_TURNING) { /* the params were changed, and changed back */
		session_rotate(session, UINT32_MAX);
		if (tell_engine(session, &session->applied, &why) < 0)
			log_error("the sampling can't be changed: %s", why.text);
		arm_period(session, loop_now_ns());
	} else {
		session_rotate(session, leaving);
	}
	if (session->subscriber && leaving) {
		subscriber_remove_probes(session->subscriber, leaving);
		log_probes(leaving, "disabled");
	}
	if (reconcile_probes(session, &why) < 0)
		log_error("flamegraph can't run: %s", why.text);
	session_check_closed(session);
}

/* Has the window read; without `parting`, the period ends with it. */
static void close_window(struct session *session, bool parting)
{
	session->phase = parting ? SESSION_PARTING : SESSION_TURNING;
	if (!parting)
		loop_timer_cancel(session->setup.loop, &session->period);
	engine_set_changing(session->setup.engine, wanted_probes(session));
	if (!parting)
		hold_events(session);
	engine_drain(session->setup.engine, closed_window, session);
}

static int start_session(struct session *session, struct why *why)
{
	struct subscription subscription = {.probes = wanted_probes(session)};

	params_detail(&session->wanted.params, &subscription.detail);
	int r = engine_subscribe(session->setup.engine, &subscription, &session->subscriber, why);

	if (r < 0) {
		session->subscriber = NULL;
		session->failure = *why;
		return r;
	}
	session->phase = SESSION_RUNNING;
	session->failure.text[0] = '\0';
	take_params(session);
	tell_java(session, &session->applied);
	arm_period(session, loop_now_ns());
	session_arm_window(session, true);
	log_info("flamegraph started, a sample each %.3f ms",
		 (double)params_period_ns(&session->applied) / (double)NS_PER_MS);
	log_probes(subscriber_probes(session->subscriber), "enabled");
	log_params(session);
	log_missing(session, subscription.probes & ~subscriber_probes(session->subscriber));
	return 0;
}

/* Starts more probes beside those that run. Fails if no wanted probe can run. */
static int add_probes(struct session *session, uint32_t more, struct why *why)
{
	const char *failure = "no memory";
	int r = subscriber_add_probes(session->subscriber, more);
	uint32_t runs = subscriber_probes(session->subscriber);

	log_probes(more & runs, "enabled");
	log_params(session);
	if (r == 0 && runs & wanted_probes(session)) {
		log_missing(session, more & ~runs);
		return 0;
	}
	if (r == 0)
		r = engine_failure(session->setup.engine, __builtin_ctz(more), &failure);
	why_set(why, "%s", failure);
	return r < 0 ? r : -ENOTSUP;
}

static int reconcile_probes(struct session *session, struct why *why)
{
	struct engine *engine = session->setup.engine;
	int r = engine_set_snoopers(engine, FEATURE_FLAMEGRAPH, session->wanted.snoopers);

	if (r < 0) {
		why_set(why, "/proc can't be read: %s", strerror(-r));
		return r;
	}
	session_settle_trigger(session, false);
	uint32_t wanted = wanted_probes(session);
	if (session->phase == SESSION_PARTING || session->phase == SESSION_TURNING) {
		engine_set_changing(engine, wanted);
		hold_events(session);
		return 0; /* comes back here when the window was read */
	}
	if (session->phase == SESSION_STOPPED) {
		r = tell_engine(session, &session->wanted.params, why);
		if (r == 0 && !wanted)
			session->failure.text[0] = '\0'; /* nothing is asked for that could fail */
		return r < 0 || !wanted ? r : start_session(session, why);
	}
	uint32_t runs = subscriber_probes(session->subscriber);
	bool same = has_params(session, &session->wanted.params);
	if (same && wanted & ~runs)
		r = add_probes(session, wanted & ~runs, why);
	if (r < 0)
		return r;
	if (!same || runs & ~wanted)
		close_window(session, wanted && same);
	return 0;
}

void session_begin_fired(struct session *session)
{
	struct why why;

	if (reconcile_probes(session, &why) == 0)
		return;
	log_error("flamegraph can't run: %s", why.text);
	/* It waits again after the time that it would have taken: a load that fails isn't cheap. */
	loop_timer_set(session->setup.loop, &session->period,
		       loop_now_ns() + (uint64_t)session->wanted.params.svg_period_s * NS_PER_S);
}

/* Restores the subscription after a failure, so that running sessions on demand go on. */
static void restore_subscription(struct session *session)
{
	struct why why;

	if (engine_set_snoopers(session->setup.engine, FEATURE_FLAMEGRAPH,
				session->wanted.snoopers) < 0 ||
	    (!session->subscriber && tell_engine(session, &session->wanted.params, &why) < 0))
		log_error("the configuration before can't be restored");
}

int session_apply(struct session *session, const struct spec *spec, struct why *why)
{
	struct spec before = session->wanted;
	bool told = session->told, collected = session->subscriber;
	bool fired = session->trigger.fired;

	if (session->closed) {
		why_set(why, "the daemon is stopping");
		return -ESHUTDOWN;
	}

	events_define(&spec->params);
	spec_copy(&session->wanted, spec);
	session->told = true;
	/* The same choice again disturbs nothing: not even a look at all processes. */
	if (told && snoopers_equal(before.snoopers, spec->snoopers)) {
		snoopers_unref(session->wanted.snoopers);
		session->wanted.snoopers = snoopers_ref(before.snoopers);
	}
	int r = reconcile_probes(session, why);
	if (r < 0) {
		spec_done(&session->wanted);
		session->wanted = before;
		session->told = told;
		session_settle_trigger(session, fired);
		if (told)
			restore_subscription(session);
		return r;
	}
	if (told)
		spec_done(&before);
	cleaner_set_folders(session->cleaner, spec->params.svg_dir, spec->params.flame_dir);
	if (!told ||
	    !params_equal(flamegraph_params(), PARAM_OF_UPLOADS, &before.params, &spec->params))
		uploads_apply(session->uploads, &spec->params);
	session_arm_window(session, !collected);
	return 0;
}

void session_close(struct session *session, void (*done)(void *arg), void *arg)
{
	session->closed = done;
	session->closed_arg = arg;
	session->wanted.running = false;
	session_settle_trigger(session, false);
	uploads_hurry(session->uploads);
	if (session->phase == SESSION_RUNNING)
		close_window(session, false);
	else if (session->phase == SESSION_PARTING)
		session->phase = SESSION_TURNING;
	loop_timer_cancel(session->setup.loop, &session->period);
	session_check_closed(session);
}

void session_abandon(struct session *session)
{
	if (session->phase == SESSION_TURNING)
		log_error("the last window could not be read in time");
	else if (session->writing && !session->uploads_closed)
		log_error("the last files could not be written in time");
	uploads_abandon(session->uploads);
}

int session_set_upload(struct session *session, const struct upload_options *options,
		       struct why *why)
{
	int r = uploads_set_options(session->uploads, options, why);

	if (r == 0)
		session_arm_window(session, false);
	return r;
}

void session_set_retention(struct session *session, const struct retention_limits *limits)
{
	cleaner_set_limits(session->cleaner, limits);
}
