// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows for uploads and history. While there is one of these, a session's windows end at
 * multiples of the wall clock (each 30 s: 12:00:00, 12:00:30, …) and at its periods' ends. Each is
 * sent and kept by itself; the period's files have them all together, so the same stacks are sent,
 * kept and written.
 */
#include "session/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "journal/event_journal.h"
#include "base/log.h"
#include "kind/kind.h"

#define SHORTEST_NS (NS_PER_S / 2) /* the clock was a little early: a window has just ended */

/* Adds a window to those before it. In a job of the bulk worker, which owns the tree. */
struct collecting {
	struct job job;
	struct session *session;
	struct profile *collected, *window; /* with references */
	int error;
};

static void collecting_run(struct job *job)
{
	struct collecting *collecting = (struct collecting *)job;

	collecting->error = profile_merge(collecting->collected, collecting->window);
	collecting->collected->until = collecting->window->until; /* the clock may be set */
}

static void lose_window(struct session *session, const struct profile *window, const char *why)
{
	struct session_stats *stats = &session->stats;
	const char *name = kind_get(window->probe)->name;

	snprintf(stats->last_failure, sizeof(stats->last_failure),
		 "%s: a window isn't in its period's files, or a part of it: %s", name, why);
	log_error("%s", stats->last_failure);
	stats->files_causes[FILES_NO_MEMORY]++;
	stats->unwritten += window->weight;
}

static void collecting_done(struct job *job, bool finished)
{
	struct collecting *collecting = (struct collecting *)job;

	if (!finished || collecting->error)
		lose_window(collecting->session, collecting->window,
			    finished ? strerror(-collecting->error) : "no thread");
}

static void collecting_free(struct job *job)
{
	struct collecting *collecting = (struct collecting *)job;

	profile_unref(collecting->collected);
	profile_unref(collecting->window);
	free(collecting);
}

/* Submits the adding. False: no memory, nothing was added. */
static bool collect_window(struct session *session, struct profile *window)
{
	struct profile **collected = &session->collected[window->probe];
	struct collecting *collecting = calloc(1, sizeof(*collecting));

	if (collecting && !*collected &&
	    profile_new(collected, window->probe, window->from, window->period_ns) == 0) {
		(*collected)->began_ns = window->began_ns;
		(*collected)->places = window->places;
	}
	if (!collecting || !*collected) {
		free(collecting);
		return false;
	}
	collecting->session = session;
	collecting->collected = profile_ref(*collected);
	collecting->window = profile_ref(window);
	collecting->job = (struct job){.run = collecting_run,
				       .done = collecting_done,
				       .free = collecting_free,
				       .unlimited = true};
	worker_submit(session->setup.files.bulk, &collecting->job);
	return true;
}

static void note_kept(void *arg)
{
	struct session *session = arg;

	session->writing--;
	session_check_closed(session);
}

void session_keep(struct session *session, struct profile *profile)
{
	struct history *history = session->setup.history;

	if (history_is_on(history) && history_add(history, profile, note_kept, session) == 0)
		session->writing++;
}

#define CLEAN_WINDOWS 10

/* Notes when the guard begins to leave events out, and when it hasn't for some windows. */
static void note_guard(struct session *session, enum probe probe, const struct profile *window)
{
	uint32_t bit = 1u << probe;

	if (window->left_out) {
		if (!(session->thinned & bit))
			journal_note(JOURNAL_GUARD,
				     "%s: max_overhead leaves events out, %llu so far",
				     kind_get(probe)->name, (unsigned long long)window->left_out);
		session->thinned |= bit;
		session->unthinned[probe] = 0;
	} else if (session->thinned & bit && ++session->unthinned[probe] == CLEAN_WINDOWS) {
		journal_note(JOURNAL_GUARD, "%s: all events were taken in the last %d windows",
			     kind_get(probe)->name, CLEAN_WINDOWS);
		session->thinned &= ~bit;
	}
}

/* Returns the window of a probe, for its upload and history; the caller owns it. NULL: no memory,
 * it goes on. */
static struct profile *take_window(struct session *session, enum probe probe)
{
	struct profile *window = subscriber_take_profile(session->subscriber, probe);

	/* Skips windows of zero length: two requests were served by the same drain. */
	if (window && (window->weight || window->until > window->from)) {
		if (session->sends && !(session->unsent & 1u << probe))
			uploads_add(session->uploads, window, &session->applied);
		note_guard(session, probe, window);
		session_keep(session, window);
	}
	if (window)
		session->unsent &= ~(1u << probe);
	return window;
}

struct profile *session_take_period(struct session *session, enum probe probe)
{
	_cleanup_profile_ struct profile *window = take_window(session, probe);

	if (!window || !session->collected[probe])
		return TAKE_PTR(window);
	if (!collect_window(session, window))
		lose_window(session, window, "no memory");
	return TAKE_PTR(session->collected[probe]);
}

static void window_read(void *arg)
{
	struct session *session = arg;

	if (session->phase != SESSION_RUNNING || !session->window.active)
		return;
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (!subscriber_profile(session->subscriber, probe))
			continue;
		_cleanup_profile_ struct profile *window = take_window(session, probe);
		if (!window)
			log_error("%s: no memory for a new window; it goes on in the old one",
				  kind_get(probe)->name);
		else if (!collect_window(session, window))
			lose_window(session, window, "no memory");
	}
}

static void arm_window_timer(struct session *session)
{
	unsigned period_s = session->sends ? uploads_period_s(session->uploads)
					   : history_window_s(session->setup.history);
	uint64_t period_ns = period_s * NS_PER_S;
	uint64_t left_ns = period_ns - (uint64_t)loop_real_ns() % period_ns;

	if (left_ns < SHORTEST_NS)
		left_ns += period_ns;
	loop_timer_set(session->setup.loop, &session->window, loop_now_ns() + left_ns);
}

/*
 * Returns whether windows end by the clock for history alone. A Java VM that records (JFR) does so
 * for each window, and goes over to its own walker in one that it missed: there a window is a
 * period, so that a period's file isn't of both.
 */
static bool ends_for_history(const struct session *session)
{
	return session->subscriber && history_is_on(session->setup.history) &&
	       session->applied.java_source != JAVA_JFR;
}

static void window_ends(void *arg)
{
	struct session *session = arg;

	if (!session->sends && !ends_for_history(session))
		return; /* history could not be opened */
	arm_window_timer(session);
	engine_drain(session->setup.engine, window_read, session);
}

void session_arm_window(struct session *session, bool begins)
{
	session->window.expired = window_ends;
	session->window.arg = session;
	session->window.name = "session";
	bool sent = session->sends;

	session->sends = session->subscriber && uploads_has_server(session->uploads);
	if (!session->sends && !ends_for_history(session)) {
		loop_timer_cancel(session->setup.loop, &session->window);
		return;
	}
	if (session->window.active && session->sends == sent)
		return;
	arm_window_timer(session);
	session->unsent = begins || !session->sends ? 0 : subscriber_probes(session->subscriber);
	if (session->unsent)
		engine_drain(session->setup.engine, window_read, session);
}
