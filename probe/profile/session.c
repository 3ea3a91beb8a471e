// SPDX-License-Identifier: GPL-2.0-only
#include "profile/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "profile/kind.h"
#include "profile/render.h"

#define SHORT_PERIOD_S 30 /* GET shows the period before as well */

struct session {
	struct session_setup setup;
	struct spec wanted;
	bool told;

	struct subscriber *subscriber; /* NULL: not collecting */
	struct params applied;	       /* while collecting */
	bool closing;
	char failure[256]; /* why it can't run; "": it can */
	struct loop_timer period;
	struct profile *previous[PROBE_COUNT];
	struct session_stats stats;
	struct cleaner *cleaner;
	struct fetch *fetches; /* that are under way */
	unsigned writing;      /* profiles whose files aren't written yet */
	void (*closed)(void *arg);
	void *closed_arg;
};

static int reconcile(struct session *session, char *why, size_t why_bytes);
static void period_ends(void *arg);

int session_new(struct session **ret, const struct session_setup *setup)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return -ENOMEM;
	session->setup = *setup;
	session->period = (struct loop_timer){.expired = period_ends, .arg = session};
	struct cleaner_setup cleaner = {setup->loop, setup->files.foreign, setup->files.roots,
					setup->retention};
	if (cleaner_new(&session->cleaner, &cleaner) < 0) {
		free(session);
		return -ENOMEM;
	}
	*ret = session;
	return 0;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	loop_timer_cancel(session->setup.loop, &session->period);
	if (session->subscriber)
		engine_unsubscribe(session->setup.engine, session->subscriber);
	for (int i = 0; i < PROBE_COUNT; i++)
		profile_unref(session->previous[i]);
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

const struct spec *session_spec(const struct session *session)
{
	return session->told ? &session->wanted : NULL;
}

/* ---- files ---- */

static void check_closed(struct session *session)
{
	if (!session->closed || session->writing || session->closing || session->subscriber)
		return;
	void (*closed)(void *arg) = TAKE_PTR(session->closed);
	closed(session->closed_arg);
}

static void written(void *arg, const struct files_result *result)
{
	struct session *session = arg;

	session->stats.files_written += result->written;
	session->stats.files_failed += result->failed;
	for (int i = 0; i < FILES_CAUSES; i++)
		session->stats.files_causes[i] += result->causes[i];
	session->stats.unwritten += result->unwritten;
	if (result->last[0])
		memcpy(session->stats.last_failure, result->last, sizeof(result->last));
	session->writing--;
	cleaner_wake(session->cleaner);
	check_closed(session);
}

/* Where there is no memory even to begin. */
static void lose_period(struct session *session, const struct profile *profile)
{
	struct files_result result = {.failed = 1, .unwritten = profile->events};

	result.causes[FILES_NO_MEMORY] = 1;
	snprintf(result.last, sizeof(result.last), "%s: no memory to write a period's files",
		 kind_get(profile->probe)->name);
	log_error("%s", result.last);
	session->writing++;
	written(session, &result);
}

/* The period has been read: its profiles go to files, new ones begin. */
static void rotate(struct session *session)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (!subscriber_profile(session->subscriber, probe))
			continue;
		struct profile *profile = subscriber_take_profile(session->subscriber, probe);
		if (!profile) {
			log_error("no memory for a new period of %s; it goes on in the old one",
				  kind_get(probe)->name);
			continue;
		}
		profile_unref(session->previous[probe]);
		session->previous[probe] = profile;
		if (files_write(&session->setup.files, profile, &session->applied, written,
				session) == 0)
			session->writing++;
		else
			lose_period(session, profile);
	}
}

static void period_read(void *arg)
{
	struct session *session = arg;

	if (session->subscriber && !session->closing)
		rotate(session);
}

static void arm_period(struct session *session, uint64_t from_ns)
{
	loop_timer_set(session->setup.loop, &session->period,
		       from_ns + (uint64_t)session->applied.svg_period_s * NS_PER_S);
}

static void period_ends(void *arg)
{
	struct session *session = arg;

	arm_period(session, session->period.at_ns); /* from when it was due: no drift */
	engine_drain(session->setup.engine, period_read, session);
}

/* ---- to what was told ---- */

static bool should_run(const struct session *session)
{
	return session->wanted.running && (session->wanted.probes & kinds_built());
}

static void closed_window(void *arg)
{
	struct session *session = arg;
	char why[256] = "";

	rotate(session);
	session->closing = false;
	if (!should_run(session)) {
		engine_unsubscribe(session->setup.engine, session->subscriber);
		session->subscriber = NULL;
		log_info("flamegraph stopped");
	} else {
		/* The params that were waited with; the rest is reconciled below. */
		session->applied = session->wanted.params;
		subscriber_set_thread_frame(session->subscriber, session->applied.thread_frame);
		engine_set_max_overhead(session->setup.engine,
					(unsigned)session->applied.max_overhead);
		arm_period(session, loop_now_ns());
		if (engine_set_period(session->setup.engine, params_period_ns(&session->applied),
				      why, sizeof(why)) < 0) {
			log_error("the sampling period can't be changed: %s", why);
			snprintf(session->failure, sizeof(session->failure), "%s", why);
		}
	}
	if (reconcile(session, why, sizeof(why)) < 0)
		log_error("flamegraph can't run: %s", why);
	check_closed(session);
}

static void close_window(struct session *session)
{
	session->closing = true;
	loop_timer_cancel(session->setup.loop, &session->period);
	engine_drain(session->setup.engine, closed_window, session);
}

static int start(struct session *session, char *why, size_t why_bytes)
{
	struct subscription subscription = {
		.probes = session->wanted.probes & kinds_built(),
		.thread_frame = session->wanted.params.thread_frame,
	};
	int r = engine_set_period(session->setup.engine, params_period_ns(&session->wanted.params),
				  why, why_bytes);

	if (r == 0)
		r = engine_subscribe(session->setup.engine, &subscription, &session->subscriber,
				     why, why_bytes);
	if (r < 0) {
		session->subscriber = NULL;
		snprintf(session->failure, sizeof(session->failure), "%s", why);
		return r;
	}
	session->failure[0] = '\0';
	session->applied = session->wanted.params;
	engine_set_max_overhead(session->setup.engine, (unsigned)session->applied.max_overhead);
	arm_period(session, loop_now_ns());
	log_info("flamegraph started, a sample each %.3f ms",
		 (double)params_period_ns(&session->applied) / (double)NS_PER_MS);
	return 0;
}

static int reconcile(struct session *session, char *why, size_t why_bytes)
{
	int r = engine_set_snoopers(session->setup.engine, session->wanted.snoopers);

	if (r < 0) {
		snprintf(why, why_bytes, "/proc can't be read: %s", strerror(-r));
		return r;
	}
	if (session->closing)
		return 0; /* comes back here when it is closed */
	if (!session->subscriber)
		return should_run(session) ? start(session, why, why_bytes) : 0;
	if (!should_run(session) || !params_equal(&session->applied, &session->wanted.params))
		close_window(session);
	return 0;
}

/* After a failure: what a running session on demand follows is as before. */
static void undo(struct session *session)
{
	char why[256];

	if (engine_set_snoopers(session->setup.engine, session->wanted.snoopers) < 0 ||
	    engine_set_period(session->setup.engine, params_period_ns(&session->wanted.params), why,
			      sizeof(why)) < 0)
		log_error("the configuration before can't be restored");
}

int session_apply(struct session *session, const struct spec *spec, char *why, size_t why_bytes)
{
	struct spec before = session->wanted;
	bool told = session->told;

	if (session->closed) {
		snprintf(why, why_bytes, "the daemon is stopping");
		return -ESHUTDOWN;
	}

	spec_copy(&session->wanted, spec);
	session->told = true;
	/* The same choice again disturbs nothing: not even a look at all processes. */
	if (told && snoopers_equal(before.snoopers, spec->snoopers)) {
		snoopers_unref(session->wanted.snoopers);
		session->wanted.snoopers = snoopers_ref(before.snoopers);
	}
	int r = reconcile(session, why, why_bytes);
	if (r < 0) {
		spec_done(&session->wanted);
		session->wanted = before;
		session->told = told;
		if (told)
			undo(session);
		return r;
	}
	if (told)
		spec_done(&before);
	cleaner_set_folders(session->cleaner, spec->params.svg_dir, spec->params.flame_dir);
	return 0;
}

const char *session_state(const struct session *session, enum probe probe, const char **why)
{
	struct engine_stats stats;

	*why = "";
	if (!kind_get(probe)->built) {
		*why = "not available in this version";
		return "unsupported";
	}
	if (session->failure[0]) {
		*why = session->failure;
		return "failed";
	}
	if (!session->subscriber || !should_run(session))
		return "stopped";
	engine_stats(session->setup.engine, &stats);
	return stats.arming ? "arming" : "running";
}

/* ---- GET ---- */

struct fetch {
	struct fetch *next;
	struct session *session;
	enum probe probe;
	int pid;
	bool icicle;
	const struct output *output;
	void (*done)(void *arg, int error, struct buf *content);
	void *arg;
};

static void fetch_finish(struct fetch *fetch, int error, struct buf *content)
{
	struct fetch **at = &fetch->session->fetches;

	while (*at != fetch)
		at = &(*at)->next;
	*at = fetch->next;
	fetch->done(fetch->arg, error, content);
	free(fetch);
}

static void fetch_rendered(void *arg, struct render *render)
{
	fetch_finish(arg, render->error, &render->content[0]);
}

void session_cancel_fetches(struct session *session)
{
	while (session->fetches)
		fetch_finish(session->fetches, -ECANCELED, NULL);
}

static void fetch_drained(void *arg)
{
	struct fetch *fetch = arg;
	struct session *session = fetch->session;
	struct profile *current =
		session->subscriber ? subscriber_profile(session->subscriber, fetch->probe) : NULL;
	struct profile *previous = session->previous[fetch->probe];
	struct render question = {
		.profile = current ? current : previous,
		.pid = fetch->pid,
		.node = TREE_ROOT,
		.icicle = fetch->icicle,
		.host = session->setup.files.host,
		.outputs = {fetch->output},
		.done = fetch_rendered,
		.arg = fetch,
	};

	if (current && loop_now_ns() - current->from_ns < SHORT_PERIOD_S * NS_PER_S)
		question.before = previous;
	int r = question.profile ? render_submit(session->setup.files.bulk, &question) : -ENOENT;
	if (r < 0)
		fetch_finish(fetch, r, NULL);
}

int session_fetch(struct session *session, enum probe probe, int pid, bool icicle,
		  const struct output *output,
		  void (*done)(void *arg, int error, struct buf *content), void *arg)
{
	bool collecting = session->subscriber && subscriber_profile(session->subscriber, probe);

	if (!collecting && !session->previous[probe])
		return -ENOENT;
	struct fetch *fetch = malloc(sizeof(*fetch));
	if (!fetch)
		return -ENOMEM;
	*fetch = (struct fetch){session->fetches, session, probe, pid, icicle, output, done, arg};
	session->fetches = fetch;
	if (collecting)
		engine_drain(session->setup.engine, fetch_drained, fetch);
	else
		fetch_drained(fetch);
	return 0;
}

void session_close(struct session *session, void (*done)(void *arg), void *arg)
{
	session->closed = done;
	session->closed_arg = arg;
	session->wanted.running = false;
	if (session->subscriber && !session->closing)
		close_window(session);
	check_closed(session);
}

void session_set_retention(struct session *session, const struct retention_limits *limits)
{
	cleaner_set_limits(session->cleaner, limits);
}

void session_stats(const struct session *session, struct session_stats *stats)
{
	*stats = session->stats;
	stats->cleaned = *cleaner_stats(session->cleaner);
}
