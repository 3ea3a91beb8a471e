// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/history/history_resource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/history/history_question.h"
#include "base/json.h"
#include "kind/kind.h"
#include "profile/by_container.h"

#define CHANGES_TOP	  50
#define ANOMALY_FUNCTIONS 10 /* of each process */

struct history_request {
	const struct services *services;
	struct answer *answer;
	size_t top; /* changes that are told */
	void (*ready)(void *arg);
	void *arg;
};

/* ---- what both tell ---- */

static void write_what(struct json *json, const struct history_ask *ask)
{
	const struct view_row *row = view_get(ask->probe, ask->view);
	const struct kind *kind = kind_get(ask->probe);

	json_text(json, "probe", kind->name);
	if (ask->view != VIEW_ALL)
		json_text(json, "view", row->name);
	json_text(json, "title", row->title);
	json_text(json, "unit", row->count_name ? row->count_name : kind->count_name);
}

static void write_range(struct json *json, const char *key, const struct history_range *range,
			const struct history_head *sum)
{
	json_object(json, key);
	json_seconds(json, "from", range->from > 0 ? (uint64_t)range->from : 0);
	json_seconds(json, "until", range->until > 0 ? (uint64_t)range->until : 0);
	if (sum) {
		json_seconds(json, "covered", sum->covered_ns);
		json_numbers(json, {"windows", sum->windows}, {"weight", sum->weight},
			     {"samples", sum->samples}, {"lost", sum->lost},
			     {"truncated", sum->truncated}, {"left_out", sum->left_out},
			     {"period_ns", sum->period_ns});
	}
	json_object_end(json);
}

/* ---- windows ---- */

static void write_windows(struct json *json, const struct history_ask *ask)
{
	json_array(json, "windows");
	for (size_t i = 0; i < ask->heads_count; i++) {
		const struct history_head *head = &ask->heads[i];

		json_line(json);
		json_object(json, NULL);
		json_seconds(json, "from", (uint64_t)head->from);
		json_seconds(json, "until", (uint64_t)head->until);
		json_seconds(json, "covered", head->covered_ns);
		json_numbers(json, {"windows", head->windows}, {"weight", head->weight},
			     {"samples", head->samples}, {"lost", head->lost},
			     {"truncated", head->truncated}, {"left_out", head->left_out},
			     {"processes", head->processes}, {"period_ns", head->period_ns});
		json_seconds(json, "begun", (uint64_t)head->begun);
		if (head->is_state)
			json_raw(json, "state", "true");
		if (ask->runs && i == ask->heads_count - 1)
			json_raw(json, "running", "true");
		json_object_end(json);
	}
	json_array_end(json);
}

/* ---- changes ---- */

static void write_rate(struct json *json, const char *key, const struct history_rate *rate)
{
	json_object(json, key);
	json_double(json, "before", rate->before);
	json_double(json, "after", rate->after);
	json_double(json, "error", rate->error);
	json_double(json, "chance", rate->chance);
	json_raw(json, "change", rate->is_change ? "true" : "false");
	json_object_end(json);
}

static void write_sides(struct json *json, const struct history_ask *ask)
{
	write_range(json, "before", &ask->ranges[HISTORY_BEFORE], &ask->sums[HISTORY_BEFORE]);
	write_range(json, "after", &ask->ranges[HISTORY_AFTER], &ask->sums[HISTORY_AFTER]);
}

static void write_functions(struct json *json, const struct history_change *changes, size_t count,
			    size_t top)
{
	json_array(json, "changes");
	for (size_t i = 0; i < count && i < top; i++) {
		json_line(json);
		json_object(json, NULL);
		json_name(json, "name", changes[i].name);
		json_text(json, "kind", frame_type_name(changes[i].type));
		write_rate(json, "self", &changes[i].self);
		write_rate(json, "total", &changes[i].total);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_changes(struct json *json, const struct history_ask *ask, size_t top)
{
	if (view_is_held(ask->view))
		json_raw(json, "state", "true");
	write_sides(json, ask);
	json_numbers(json, {"functions", ask->functions}, {"changed", ask->changes_count},
		     {"damaged", ask->damaged});
	json_raw(json, "tells", ask->tells ? "true" : "false");
	write_functions(json, ask->changes, ask->changes_count, top);
}

/* ---- anomalies ---- */

/* Adds what the process's control group lets it have; of the CPU's time, how much of that it had.
 */
static void write_limits(struct json *json, const struct history_ask *ask,
			 const struct history_anomaly *anomaly)
{
	const struct cgroup_limits *limits = &anomaly->limits;
	double of_second = (double)ask->sums[HISTORY_AFTER].period_ns / (double)NS_PER_S;

	if (!limits->path)
		return;
	json_object(json, "cgroup");
	json_name(json, "path", limits->path);
	if (limits->weight)
		json_u64(json, "weight", limits->weight);
	if (limits->shares)
		json_u64(json, "shares", limits->shares);
	if (limits->cpus > 0) {
		json_double(json, "cpus", limits->cpus);
		if (of_second > 0 && ask->view == VIEW_ALL) {
			json_double(json, "used_before",
				    anomaly->rate.before * of_second / limits->cpus);
			json_double(json, "used_after",
				    anomaly->rate.after * of_second / limits->cpus);
		}
	}
	json_object_end(json);
}

static void write_anomaly(struct json *json, const struct history_ask *ask,
			  const struct history_anomaly *anomaly)
{
	const char *end = strchr(anomaly->name, ']');

	json_object(json, NULL);
	json_u64(json, "pid", strtoul(anomaly->name + 1, NULL, 10));
	json_name(json, "comm", end ? end + 1 : anomaly->name);
	if (anomaly->container)
		json_name(json, "container", anomaly->container + strlen(CONTAINER_PREFIX));
	json_raw(json, "alive", anomaly->is_alive ? "true" : "false");
	json_text(json, "past",
		  anomaly->is_new      ? "new"
		  : anomaly->is_silent ? "silent now"
				       : "known");
	write_rate(json, "rate", &anomaly->rate);
	write_limits(json, ask, anomaly);
	json_u64(json, "changed", anomaly->changes_count);
	write_functions(json, anomaly->changes, anomaly->changes_count, ANOMALY_FUNCTIONS);
	json_object_end(json);
}

static void write_anomalies(struct json *json, const struct history_ask *ask, size_t top)
{
	const struct history_anomalies *anomalies = &ask->anomalies;

	write_sides(json, ask);
	json_numbers(json, {"processes", anomalies->processes}, {"functions", anomalies->functions},
		     {"began", anomalies->began}, {"ended", anomalies->ended},
		     {"abnormal", anomalies->count}, {"damaged", ask->damaged});
	json_raw(json, "tells", ask->tells ? "true" : "false");
	json_array(json, "anomalies");
	for (size_t i = 0; i < anomalies->count && i < top; i++) {
		json_line(json);
		write_anomaly(json, ask, &anomalies->anomalies[i]);
	}
	json_array_end(json);
}

/* ---- asking ---- */

static void history_answered(void *arg, struct history_ask *ask)
{
	struct history_request *request = arg;
	struct answer *answer = request->answer;
	struct json json = {.out = &answer->body};

	if (ask->error) {
		history_question_fail(request->services, ask->error, answer);
	} else {
		answer->status = 200;
		answer->content_type = "application/json";
		json_object(&json, NULL);
		write_what(&json, ask);
		if (ask->wish == HISTORY_CHANGES) {
			write_changes(&json, ask, request->top);
		} else if (ask->wish == HISTORY_ANOMALIES) {
			write_anomalies(&json, ask, request->top);
		} else {
			write_range(&json, "range", &ask->ranges[HISTORY_AFTER], NULL);
			json_u64(&json, "damaged", ask->damaged);
			write_windows(&json, ask);
		}
		json_object_end(&json);
		buf_char(&answer->body, '\n');
	}
	request->ready(request->arg);
	free(request);
}

/* Finds the probe and its view. False: the answer is filled in. */
static bool find_series(const struct query *query, struct history_ask *ask, struct answer *answer)
{
	int probe = query->probe ? kind_find(query->probe) : -ENOENT;

	if (probe < 0) {
		answer_failed(answer, 400,
			      query->probe ? "probe is unknown" : "probe=NAME has to be given");
		return false;
	}
	int view = query->view ? view_find(probe, query->view) : VIEW_ALL;
	bool has_no_rates =
		view >= 0 && view_is_held((enum view)view) && ask->wish == HISTORY_ANOMALIES;
	if (view < 0 || has_no_rates) {
		answer_failed(answer, 400,
			      view < 0 ? "the probe has no such view"
				       : "what is held has no rates: see its /changes");
		return false;
	}
	ask->probe = (enum probe)probe;
	ask->view = (enum view)view;
	return true;
}

static void ask_history(const struct services *services, const struct query *query,
			enum history_wish wish, struct answer *answer, void (*ready)(void *arg),
			void *arg)
{
	struct history_ask question = {.wish = wish, .done = history_answered};
	struct history_request *request;

	if (!find_series(query, &question, answer) ||
	    !history_question_read(services, query, &question, answer))
		return;
	if (query->top != QUERY_NONE && (query->top < 1 || query->top > HISTORY_ROWS)) {
		answer_failed(answer, 400, "top must be a number from 1 to 1000");
		return;
	}
	if (wish != HISTORY_WINDOWS)
		question.compares = true;
	request = malloc(sizeof(*request));
	if (!request) {
		answer_failed(answer, 503, "no memory");
		return;
	}
	*request = (struct history_request){
		services, answer, query->top > 0 ? (size_t)query->top : CHANGES_TOP, ready, arg};
	question.arg = request;
	int r = session_ask_history(services->flamegraph, &question);
	if (r < 0) {
		history_question_fail(services, r, answer);
		free(request);
	}
}

void windows_get(const struct services *services, const struct query *query, struct answer *answer,
		 void (*ready)(void *arg), void *arg)
{
	ask_history(services, query, HISTORY_WINDOWS, answer, ready, arg);
}

void changes_get(const struct services *services, const struct query *query, struct answer *answer,
		 void (*ready)(void *arg), void *arg)
{
	ask_history(services, query, HISTORY_CHANGES, answer, ready, arg);
}

void anomalies_get(const struct services *services, const struct query *query,
		   struct answer *answer, void (*ready)(void *arg), void *arg)
{
	ask_history(services, query, HISTORY_ANOMALIES, answer, ready, arg);
}
