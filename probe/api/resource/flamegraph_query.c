// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/resource/flamegraph_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kind/kind.h"
#include "profile/view.h"

#define PID_MAX	  4194304
#define AGE_MAX	  31536000 /* s, a year */
#define COUNT_MAX 1000000

static void refuse_view(enum probe probe, struct answer *answer)
{
	char message[128];
	size_t len = 0;

	snprintf(message, sizeof(message), "%s has no views", kind_get(probe)->name);
	for (int i = VIEW_ALL + 1; i < VIEWS; i++) {
		const struct view_row *row = view_get(probe, (enum view)i);

		if (row && !len)
			len = (size_t)snprintf(message, sizeof(message), "view must be one of %s",
					       view_get(probe, VIEW_ALL)->name);
		if (row && len < sizeof(message))
			len += (size_t)snprintf(message + len, sizeof(message) - len, ", %s",
						row->name);
	}
	answer_failed(answer, 400, message);
}

/* Ages apply only to what is held. */
static bool check_age(enum view view, const struct query *query, struct answer *answer)
{
	struct why of_held;
	const char *message = NULL;

	why_set(&of_held, "min_age is for what is held: view=inuse or view=mmap of %s",
		kind_get(kind_of_heap())->name);
	if (query->min_age == QUERY_NONE)
		return true;
	if (query->min_age < 0 || query->min_age > AGE_MAX)
		message = "min_age must be a number from 0 to 31536000";
	else if (!view_is_held(view))
		message = of_held.text;
	else if (query->seconds > 0 && query->min_age >= query->seconds)
		message = "min_age must be less than seconds: what came before isn't seen then";
	if (message)
		answer_failed(answer, 400, message);
	return !message;
}

/* Returns whether the query's value is the name of the probe's second one. */
static bool is_second(enum probe probe, const char *value)
{
	return value && view_find(probe, value) == VIEW_SECOND;
}

bool query_counts(const struct query *query)
{
	return query->value && strcasecmp(query->value, "count") == 0;
}

/* Checks intervals. Returns what is wrong; NULL: nothing. */
static const char *check_every(const struct output *output, const struct query *query)
{
	if (query->count != QUERY_NONE && query->every == QUERY_NONE)
		return "count needs every";
	if (query->every == QUERY_NONE)
		return NULL;
	if (query->every < 1 || query->every > QUERY_SECONDS_MAX)
		return "every must be a number from 1 to 600";
	if (query->count != QUERY_NONE && (query->count < 1 || query->count > COUNT_MAX))
		return "count must be a number from 1 to 1000000";
	if (query->seconds != QUERY_NONE)
		return "every and seconds exclude each other";
	return output_has_intervals(output) ? NULL : "every is for folded, json and jsonl";
}

static bool check_view(enum probe probe, const struct query *query, struct query_choice *choice,
		       struct answer *answer)
{
	int view = query->view ? view_find(probe, query->view) : VIEW_ALL;

	if (view < 0) {
		refuse_view(probe, answer);
		return false;
	}
	if (!query->view && is_second(probe, query->value))
		view = VIEW_SECOND;
	if (!check_age((enum view)view, query, answer))
		return false;
	if (query->every > 0 && view_is_held((enum view)view)) {
		answer_failed(answer, 400, "every is not for what is held");
		return false;
	}
	*choice = (struct query_choice){
		.view = (enum view)view,
		.min_age_ns = query->min_age > 0 ? (uint64_t)query->min_age * NS_PER_S : 0,
	};
	return true;
}

/* Lists the probes that count something beside their weight. */
static void refuse_value(struct answer *answer)
{
	char message[256] = "value=count is for";
	size_t len = strlen(message);
	const char *comma = "";

	for (int i = 0; i < PROBE_COUNT; i++) {
		if (!kind_exists(i) || !kind_get(i)->event_name || len >= sizeof(message))
			continue;
		len += (size_t)snprintf(message + len, sizeof(message) - len, "%s %s", comma,
					kind_get(i)->name);
		comma = ",";
	}
	answer_failed(answer, 400, message);
}

static const char *message_on_value(enum probe probe, struct why *buf)
{
	const struct view_row *second = view_get(probe, VIEW_SECOND);

	if (!second)
		return "value must be count";
	why_set(buf, "value must be count or %s", second->name);
	return buf->text;
}

bool query_pids(const char *text, struct ondemand_request *request)
{
	size_t count = 0;

	for (const char *at = text; count <= ONDEMAND_OTHERS_MAX; at++) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at || pid < 1 || pid > PID_MAX)
			return false;
		if (count++)
			request->others[request->others_count++] = (pid_t)pid;
		else
			request->pid = (int)pid;
		at = end;
		if (*at != ',')
			return !*at;
	}
	return false;
}

/* Returns what is wrong with the choice of processes, a sentence; NULL: nothing. */
static const char *check_pids(const struct query *query)
{
	bool is_session = query->seconds != QUERY_NONE || query->every != QUERY_NONE;
	struct ondemand_request request = {0};

	if (query->pid != QUERY_NONE && (query->pid < 1 || query->pid > PID_MAX))
		return "pid must be a number from 1 to 4194304";
	if (!query->pids)
		return NULL;
	if (query->pid != QUERY_NONE || !is_session)
		return "pids is in the place of pid, with seconds or every";
	return query_pids(query->pids, &request)
		       ? NULL
		       : "pids must be up to 64 numbers from 1 to 4194304, "
			 "with commas between";
}

bool flamegraph_query(enum probe probe, const struct output *output, const struct query *query,
		      struct query_choice *choice, struct answer *answer)
{
	const struct stack_wish wish = {query->min, query->max, query->top, query->sort};
	struct stack_choice stacks = {0};
	const char *message = NULL;
	struct why buf;

	if (query->seconds != QUERY_NONE &&
	    (query->seconds < 1 || query->seconds > QUERY_SECONDS_MAX))
		message = "seconds must be a number from 1 to 600";
	else if (query->icicle < QUERY_NONE || query->icicle > 1)
		message = "icicle must be 0 or 1";
	else if (query->header < QUERY_NONE || query->header > 1)
		message = "header must be 0 or 1";
	else if (query->value && !query_counts(query) && !is_second(probe, query->value))
		message = message_on_value(probe, &buf);
	else if (query_counts(query) && output->values)
		message = "value is not for pb.gz: it has both values";
	else
		message = stack_choice_make(&stacks, &wish, output);
	if (!message)
		message = check_pids(query);
	if (!message)
		message = check_every(output, query);
	if (message) {
		answer_failed(answer, 400, message);
		return false;
	}
	if (!check_view(probe, query, choice, answer))
		return false;
	choice->stacks = stacks;
	if (!query_counts(query) || view_get(probe, choice->view)->event_name)
		return true;
	refuse_value(answer);
	return false;
}
