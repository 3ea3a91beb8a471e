// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/history/history_question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PID_MAX	     4194304
#define RANGE_NS     (3600 * (int64_t)NS_PER_S)
#define TIME_WORDS   "must be seconds since 1970, or with a minus seconds before now"
#define FILTER_WORDS "must have 1 to 255 bytes"

/* Copies a text of a filter. Returns whether it fits; NULL: it isn't given. */
static bool copy_text(const char *text, char to[HISTORY_FILTER_BYTES])
{
	size_t len = text ? strlen(text) : 0;

	if (text && (!len || len >= HISTORY_FILTER_BYTES))
		return false;
	memcpy(to, text ? text : "", len + 1);
	return true;
}

/* Reads a time of the query, if it has that. Returns what is wrong; NULL: nothing. */
static const char *read_time(const char *name, const char *text, int64_t now, int64_t *ns,
			     struct why *why)
{
	if (!text || query_time(text, now, ns))
		return NULL;
	why_set(why, "%s " TIME_WORDS, name);
	return why->text;
}

static const char *read_ranges(const struct services *services, const struct query *query,
			       struct history_ask *ask, struct why *why)
{
	struct history_range *after = &ask->ranges[HISTORY_AFTER];
	struct history_range *before = &ask->ranges[HISTORY_BEFORE];
	bool is_lately = ask->wish == HISTORY_ANOMALIES;
	struct history_range usual[HISTORY_SIDES];
	int64_t now = loop_real_ns();
	const char *wrong;

	after->until = now;
	wrong = read_time("until", query->until, now, &after->until, why);
	history_lately(services->history, after->until, usual);
	after->from = is_lately ? usual[HISTORY_AFTER].from : after->until - RANGE_NS;
	if (!wrong)
		wrong = read_time("from", query->from, now, &after->from, why);
	if (wrong)
		return wrong;
	int64_t length = after->until - after->from;
	if (length <= 0)
		return "from must be before until";
	before->until = after->from;
	before->from =
		after->from -
		(is_lately ? usual[HISTORY_BEFORE].until - usual[HISTORY_BEFORE].from : length);
	wrong = read_time("before_from", query->before_from, now, &before->from, why);
	if (!wrong && query->before_from && !query->before_until)
		before->until = before->from + length;
	if (!wrong)
		wrong = read_time("before_until", query->before_until, now, &before->until, why);
	if (!wrong && query->before_until && !query->before_from)
		before->from = before->until - length;
	if (!wrong && before->from >= before->until)
		return "before_from must be before before_until";
	return wrong;
}

/* Reads a process's number, 1 to the largest one. */
static bool read_pid(const char *text, int *pid)
{
	char *end;
	long number = strtol(text, &end, 10);

	*pid = (int)number;
	return end != text && !*end && number >= 1 && number <= PID_MAX;
}

static const char *read_filters(const struct query *query, struct history_ask *ask)
{
	struct history_filter *after = &ask->filters[HISTORY_AFTER];
	struct history_filter *before = &ask->filters[HISTORY_BEFORE];

	if (query->pids)
		return "pids has no history: give pid=N";
	if (query->pid != QUERY_NONE && (query->pid < 1 || query->pid > PID_MAX))
		return "pid must be a number from 1 to 4194304";
	after->pid = query->pid > 0 ? (int)query->pid : 0;
	if (!copy_text(query->comm, after->comm))
		return "comm " FILTER_WORDS;
	if (!copy_text(query->container, after->container))
		return "container " FILTER_WORDS;
	if (!copy_text(query->thread, after->thread))
		return "thread " FILTER_WORDS;
	/* What it is compared with is the same, unless something of its own is asked for. */
	bool has_own = query->before_pid || query->before_comm || query->before_container;
	*before = *after;
	if (has_own)
		memset(before, 0, sizeof(*before));
	if (query->before_pid && !read_pid(query->before_pid, &before->pid))
		return "before_pid must be a number from 1 to 4194304";
	if (query->before_comm && !copy_text(query->before_comm, before->comm))
		return "before_comm " FILTER_WORDS;
	if (query->before_container && !copy_text(query->before_container, before->container))
		return "before_container " FILTER_WORDS;
	return NULL;
}

bool history_question_read(const struct services *services, const struct query *query,
			   struct history_ask *ask, struct answer *answer)
{
	struct why why;
	const char *wrong = read_ranges(services, query, ask, &why);

	if (!wrong)
		wrong = read_filters(query, ask);
	ask->compares = query->before_from || query->before_until || query->before_pid ||
			query->before_comm || query->before_container;
	if (wrong)
		answer_failed(answer, 400, wrong);
	return !wrong;
}

void history_question_fail(const struct services *services, int error, struct answer *answer)
{
	const struct history_stats *stats = history_stats(services->history);
	struct why why;

	if (error == -ENOENT && !stats->is_on)
		why_set(&why, "no history is kept: %s",
			stats->failure[0] ? stats->failure
					  : "state_dir or history.bytes of the conf file say so");
	else if (error == -ECANCELED)
		why_set(&why, "the daemon ends");
	else if (error == -ENOENT)
		why_set(&why, "history has nothing of that probe");
	else
		why_set(&why, "history can't be read: %s",
			error == -ENOSPC ? "it is too big" : strerror(-error));
	answer_failed(answer, error == -ENOENT ? 404 : 503, why.text);
}
