// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When the trigger fires: files of what history has of the period before. Those of its probes that
 * ran then have windows there.
 */
#include "session/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "kind/kind.h"

/* A question to history, for files with these params. */
struct before_files {
	struct session *session;
	struct params params;
};

static void before_read(void *arg, struct history_ask *ask)
{
	struct before_files *files = arg;
	struct session *session = files->session;
	struct profile *profile = ask->error ? NULL : ask->profiles[HISTORY_AFTER];

	if (profile && profile->weight)
		session_write_files(session, profile, &files->params, true);
	/* -ENOENT: the probe never ran. -ECANCELED: the daemon ends. */
	if (ask->error && ask->error != -ENOENT && ask->error != -ECANCELED)
		log_warn("%s: what was before the trigger fired can't be read, and has no file: %s",
			 view_get(ask->probe, ask->view)->folder, strerror(-ask->error));
	free(files);
	session->writing--;
	session_check_closed(session);
}

static void ask_before(struct session *session, enum probe probe, enum view view)
{
	int64_t until = session->stats.trigger.last_fired;
	const struct params *params = &session->wanted.params;
	struct before_files *files = malloc(sizeof(*files));
	struct history_ask question = {
		.wish = HISTORY_PROFILES,
		.probe = probe,
		.view = view,
		.ranges[HISTORY_AFTER] = {until - params->svg_period_s * (int64_t)NS_PER_S, until},
		.done = before_read,
		.arg = files,
	};
	int r = -ENOMEM;

	if (files) {
		*files = (struct before_files){session, *params};
		r = history_submit(session->setup.history, &question);
	}
	if (r == 0)
		session->writing++;
	else
		free(files);
	if (r == -ENOMEM)
		log_error("%s: no memory to write what was before the trigger fired",
			  view_get(probe, view)->folder);
}

void session_write_before(struct session *session)
{
	if (!history_is_on(session->setup.history))
		return;
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (!(session->wanted.probes & 1u << probe))
			continue;
		ask_before(session, probe, VIEW_ALL);
		if (view_get(probe, VIEW_SECOND))
			ask_before(session, probe, VIEW_SECOND);
	}
}
