// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kind/kind.h"

static void note_uploaded(void *arg)
{
	struct session *session = arg;

	session->writing--;
	session_check_closed(session);
}

void session_check_closed(struct session *session)
{
	if (!session->closed || session->writing || session->phase != SESSION_STOPPED)
		return;
	if (!session->uploads_closed) {
		session->writing++; /* until then */
		session->uploads_closed = true;
		uploads_close(session->uploads, note_uploaded, session);
		return;
	}
	void (*closed)(void *arg) = TAKE_PTR(session->closed);
	closed(session->closed_arg);
}

static void note_written(void *arg, const struct files_result *result)
{
	struct session *session = arg;

	session->stats.files_written += result->written;
	for (int i = 0; i < FILES_CAUSES; i++)
		session->stats.files_causes[i] += result->causes[i];
	session->stats.unwritten += result->unwritten;
	if (result->last[0])
		memcpy(session->stats.last_failure, result->last, sizeof(result->last));
	if (result->params)
		cleaner_note_made(session->cleaner, result->params->svg_dir, result->svg_found,
				  result->params->flame_dir, result->flame_found);
	session->writing--;
	cleaner_wake(session->cleaner);
	session_check_closed(session);
}

/* Counts a profile as failed when there is no memory to begin writing it. */
static void lose_period(struct session *session, const struct profile *profile)
{
	struct files_result result = {.unwritten = profile->weight};

	result.causes[FILES_NO_MEMORY] = 1;
	snprintf(result.last, sizeof(result.last), "%s: no memory to write a period's files",
		 kind_get(profile->probe)->name);
	log_error("%s", result.last);
	session->writing++;
	note_written(session, &result);
}

/* Ends a reading that session->writing counts. */
static void end_reading(struct session *session, int error)
{
	bool memory = error == -ENOMEM || error == -EAGAIN;
	struct files_result result = {0};

	if (error < 0) {
		result.causes[memory ? FILES_NO_MEMORY : FILES_OTHER] = 1;
		snprintf(result.last, sizeof(result.last),
			 "%s: what is held can't be read, and has no files: %s",
			 kind_get(kind_of_heap())->name, strerror(-error));
		log_error("%s", result.last);
	}
	note_written(session, &result);
}

/* A reading of the live heap, for the files of a period. */
struct holding_files {
	struct session *session;
	struct params params; /* of that period */
	const struct subscriber *subscriber;
};

/* Returns whether what was read is what is held: once the probe has stopped nothing is known. */
static bool is_held_now(const struct holding_files *files)
{
	struct session *session = files->session;

	return session->subscriber && session->subscriber == files->subscriber &&
	       subscriber_profile(session->subscriber, kind_of_heap());
}

void session_write_files(struct session *session, struct profile *profile,
			 const struct params *params, bool before)
{
	if (profile->weight)
		cleaner_note_use(session->cleaner, params->svg_dir, params->flame_dir);
	if (files_write(&session->setup.files, profile, params, before, note_written, session) == 0)
		session->writing++;
	else
		lose_period(session, profile);
}

static void held_read(void *arg, int error, struct profile *profiles[VIEWS])
{
	struct holding_files *files = arg;
	struct session *session = files->session;

	for (int view = 0; view < VIEWS && error == 0; view++) {
		if (profiles[view] && is_held_now(files))
			session_keep(session, profiles[view]);
		if (profiles[view] && profiles[view]->weight)
			session_write_files(session, profiles[view], &files->params, false);
	}
	free(files);
	end_reading(session, error);
}

/* Writes files of what is held at the period's end. */
static void write_held(struct session *session)
{
	struct holding_files *files = malloc(sizeof(*files));
	struct live_heap_request request = {
		.views = 1u << VIEW_INUSE | 1u << VIEW_MMAP,
		.filter = {.before_ns = UINT64_MAX},
		.done = held_read,
		.arg = files,
	};
	int r = -ENOMEM;

	if (files) {
		*files = (struct holding_files){session, session->applied, session->subscriber};
		r = engine_read_held(session->setup.engine, session->subscriber, &request);
	}
	session->writing++;
	if (r < 0) {
		free(files);
		end_reading(session, r);
	}
}

void session_rotate(struct session *session, uint32_t probes)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (!(probes & 1u << probe) || !subscriber_profile(session->subscriber, probe))
			continue;
		struct profile *profile = session_take_period(session, probe);
		if (!profile) {
			log_error("no memory for a new period of %s; it goes on in the old one",
				  kind_get(probe)->name);
			continue;
		}
		if (kind_get(probe)->holds)
			write_held(session);
		profile_unref(session->previous[probe]);
		session->previous[probe] = profile;
		session_write_files(session, profile, &session->applied, false);
		if (profile->second && profile->second->weight)
			session_write_files(session, profile->second, &session->applied, false);
	}
}
