// SPDX-License-Identifier: GPL-2.0-or-later
/* What GET and /metrics show of the session. */
#include "session/session_state.h"

#include <errno.h>

#include "kind/kind.h"

/* Returns whether an error is lasting: one that passes by itself is no trait of the machine. */
static bool is_passing(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE || error == -EAGAIN ||
	       error == -EBUSY || error == -EINTR || error == -ENOSPC || error == -EDQUOT;
}

/* Returns the state of the probes of a session that waits for its trigger. */
static const char *waiting_state(const struct session *session, const char **why)
{
	int error = session->trigger.error;

	if (error == 0)
		return "waiting";
	*why = session->trigger.why.text;
	return error == -EOPNOTSUPP ? "unsupported" : "failed";
}

const char *session_state(const struct session *session, enum probe probe, const char **why)
{
	struct engine_stats stats;

	*why = "";
	if (session->failure.text[0]) {
		*why = session->failure.text;
		return "failed";
	}
	if (!session->told || !session->wanted.running || !(session->wanted.probes & 1u << probe))
		return "stopped";
	if (session_waits(session))
		return waiting_state(session, why);
	if (!session->subscriber)
		return session->trigger.loads ? "arming" : "stopped";
	int error = engine_failure(session->setup.engine, probe, why);
	if (error < 0 || !subscriber_profile(session->subscriber, probe))
		return is_passing(error) ? "failed" : "unsupported";
	*why = engine_says(session->setup.engine, probe);
	engine_stats(session->setup.engine, &stats);
	if (kind_get(probe)->holds && stats.allocators.arming)
		return "arming";
	return stats.arming ? "arming" : "running";
}

void session_uploads_status(const struct session *session, struct upload_status *status)
{
	uploads_status(session->uploads, status);
}

void session_stats(const struct session *session, struct session_stats *stats)
{
	*stats = session->stats;
	stats->cleaned = *cleaner_stats(session->cleaner);
}
