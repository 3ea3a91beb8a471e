// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/session_state.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/render.h"

#define SHORT_PERIOD_S 30 /* shorter: GET shows the period before as well */

struct fetch {
	struct fetch *next;
	struct session *session;
	struct session_question question;
};

static void fetch_finish(struct fetch *fetch, int error, struct buf *content)
{
	struct fetch **at = &fetch->session->fetches;

	while (*at != fetch)
		at = &(*at)->next;
	*at = fetch->next;
	fetch->question.done(fetch->question.arg, error, content);
	free(fetch);
}

static void fetch_rendered(void *arg, struct render *render)
{
	fetch_finish(arg, render->error, &render->content[0]);
}

/* Fetches a view of the live heap. */
static void fetch_read(void *arg, int error, struct profile *profiles[VIEWS])
{
	struct fetch *fetch = arg;
	const struct session_question *asked = &fetch->question;
	struct render question = {
		.profile = profiles[asked->view],
		.node = TREE_ROOT,
		.icicle = asked->icicle,
		.header = asked->header,
		.events = asked->events,
		.choice = asked->choice,
		.host = fetch->session->setup.files.host,
		.lines = engine_lines(fetch->session->setup.engine),
		.outputs = {asked->output},
		.done = fetch_rendered,
		.arg = fetch,
	};
	int r = error ? error : render_submit(fetch->session->setup.files.bulk, &question);

	if (r < 0)
		fetch_finish(fetch, r, NULL);
}

static void fetch_view_drained(void *arg)
{
	struct fetch *fetch = arg;
	const struct session *session = fetch->session;
	const struct session_question *asked = &fetch->question;
	struct live_heap_request request = {
		.views = 1u << asked->view,
		.filter = {.before_ns = live_alloc_before(loop_now_ns(), asked->min_age_ns),
			   .pid = asked->pid},
		.done = fetch_read,
		.arg = fetch,
	};
	int r = -ENOENT; /* if it was stopped meanwhile */

	if (session->subscriber)
		r = engine_read_held(session->setup.engine, session->subscriber, &request);
	if (r < 0)
		fetch_finish(fetch, r, NULL);
}

static void fetch_drained(void *arg)
{
	struct fetch *fetch = arg;
	struct session *session = fetch->session;
	const struct session_question *asked = &fetch->question;
	struct profile *current =
		session->subscriber ? subscriber_profile(session->subscriber, asked->probe) : NULL;
	struct profile *previous = session->previous[asked->probe];
	struct profile *collected = session->collected[asked->probe];
	const struct profile *first = collected ? collected : current;
	struct render question = {
		.profile = current ? current : previous,
		.second = asked->view == VIEW_SECOND,
		.pid = asked->pid,
		.node = TREE_ROOT,
		.icicle = asked->icicle,
		.header = asked->header,
		.events = asked->events,
		.choice = asked->choice,
		.host = session->setup.files.host,
		.lines = engine_lines(session->setup.engine),
		.outputs = {asked->output},
		.done = fetch_rendered,
		.arg = fetch,
	};

	if (current)
		question.before[0] = collected;
	if (current && loop_now_ns() - first->began_ns < SHORT_PERIOD_S * NS_PER_S)
		question.before[collected ? 1 : 0] = previous;
	int r = question.profile ? render_submit(session->setup.files.bulk, &question) : -ENOENT;
	if (r < 0)
		fetch_finish(fetch, r, NULL);
}

/* A question to history that waits for the drain. */
struct history_fetch {
	struct history_fetch *next;
	struct session *session;
	struct history_ask question;
};

static void unlink_question(struct history_fetch *fetch)
{
	struct history_fetch **at = &fetch->session->questions;

	while (*at != fetch)
		at = &(*at)->next;
	*at = fetch->next;
}

/* Answers that it can't be done. */
static void fail_question(struct history_fetch *fetch, int error)
{
	struct history_ask *question = &fetch->question;

	question->error = error;
	question->done(question->arg, question);
}

static void history_drained(void *arg)
{
	struct history_fetch *fetch = arg;
	struct session *session = fetch->session;
	struct history_ask *question = &fetch->question;

	if (session->subscriber)
		question->running = subscriber_profile(session->subscriber, question->probe);
	unlink_question(fetch);
	int r = history_submit(session->setup.history, question);
	if (r < 0)
		fail_question(fetch, r);
	free(fetch);
}

int session_ask_history(struct session *session, const struct history_ask *question)
{
	const struct profile *running =
		session->subscriber ? subscriber_profile(session->subscriber, question->probe)
				    : NULL;
	bool collects = running && !view_is_held(question->view) &&
			(question->ranges[HISTORY_AFTER].until > running->from ||
			 question->ranges[HISTORY_BEFORE].until > running->from);
	struct history_fetch *fetch;

	if (!history_is_on(session->setup.history) || !collects)
		return history_submit(session->setup.history, question);
	fetch = malloc(sizeof(*fetch));
	if (!fetch)
		return -ENOMEM;
	*fetch = (struct history_fetch){session->questions, session, *question};
	session->questions = fetch;
	engine_drain(session->setup.engine, history_drained, fetch);
	return 0;
}

void session_cancel_fetches(struct session *session)
{
	while (session->fetches)
		fetch_finish(session->fetches, -ECANCELED, NULL);
	while (session->questions) {
		struct history_fetch *fetch = session->questions;

		session->questions = fetch->next;
		fail_question(fetch, -ECANCELED);
		free(fetch);
	}
}

int session_fetch(struct session *session, const struct session_question *question)
{
	enum probe probe = question->probe;
	bool collecting = session->subscriber && subscriber_profile(session->subscriber, probe);
	bool held = view_is_held(question->view);

	if (!collecting && (held || !session->previous[probe]))
		return -ENOENT;
	struct fetch *fetch = malloc(sizeof(*fetch));
	if (!fetch)
		return -ENOMEM;
	*fetch = (struct fetch){session->fetches, session, *question};
	session->fetches = fetch;
	if (collecting)
		engine_drain(session->setup.engine, held ? fetch_view_drained : fetch_drained,
			     fetch);
	else
		fetch_drained(fetch);
	return 0;
}
