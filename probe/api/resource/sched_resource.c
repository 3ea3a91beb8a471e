// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/resource/sched_resource.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/status/saved_spec.h"
#include "api/resource/sched_output.h"
#include "api/status/status.h"
#include "base/cleanup.h"
#include "journal/event_journal.h"
#include "base/log.h"
#include "kind/kind.h"
#include "sched/sched_params.h"
#include "sched/sched.h"

static const char *probe_name(unsigned probe)
{
	return sched_kind_get(probe)->name;
}

static int find_probe(const struct params *params, const char *name)
{
	(void)params;
	return sched_kind_find(name);
}

static const char *find_elsewhere(const char *probe)
{
	return kind_find(probe) >= 0 ? ". /flamegraph has a probe of that name" : NULL;
}

const struct rules sched_rules = {
	.feature = "sched",
	.params = sched_params,
	.probes_count = SCHED_COUNT,
	.probe_name = probe_name,
	.probe_find = find_probe,
	.elsewhere = find_elsewhere,
	.everybody = true,
	.probes_share = true,
};

void sched_put(const struct services *services, char *data, size_t bytes, struct answer *answer,
	       void (*ready)(void *arg), void *arg)
{
	struct why why = {0};
	_cleanup_(spec_done) struct spec spec = {0};
	int r = request_parse(data, bytes, &sched_rules, sched_spec(services->sched),
			      &services->bounds, &spec, NULL, &answer->notes, &why);

	if (r < 0) {
		log_info("PUT /sched refused: %s", why.text);
		answer_failed(answer, r == -ENOMEM ? 503 : 400, why.text);
		return;
	}
	r = sched_apply(services->sched, &spec, &why);
	if (r < 0) {
		log_error("PUT /sched can't be done: %s", why.text);
		answer_failed(answer, 503, why.text);
		return;
	}
	log_info("PUT /sched: new config takes effect, state %s",
		 spec.running ? "running" : "stopped");
	journal_note(JOURNAL_PUT, "/sched %s", spec.running ? "running" : "stopped");
	answer_log_warnings(answer, "PUT /sched");
	answer_taken(answer);
	if (ready && spec.running && !snoopers_empty(spec.snoopers) &&
	    engine_when_armed(services->engine, ready, arg)) {
		answer->later = answer->status;
		answer->status = 0;
	}
}

/* ---- GET /sched ---- */

static void add_probe(struct json *json, struct sched *sched, enum sched_probe probe)
{
	_cleanup_sched_data_ struct sched_data fresh = {0};
	const struct sched_data *data;
	const char *why, *state = sched_state(sched, probe, &why);
	int r = sched_read(sched, probe, &fresh, &data);
	uint64_t from_ms = r < 0 ? 0 : data->from_ns / NS_PER_MS;

	json_object(json, sched_kind_get(probe)->name);
	json_text(json, "state", state);
	json_text(json, "reason", r < 0 && r != -ENOENT ? strerror(-r) : why);
	json_u64(json, "count", r == 0 ? sched_data_count(data) : 0);
	if (r == 0)
		json_double(json, "from", (double)from_ms / 1e3);
	json_object_end(json);
}

static void add_status(struct json *json, const struct services *services, const struct spec *spec)
{
	struct counters counters;

	json_object(json, "probes");
	for (int i = 0; i < SCHED_COUNT; i++) {
		if (spec->probes & 1u << i)
			add_probe(json, services->sched, i);
	}
	json_object_end(json);
	tracer_counters(engine_tracer(services->engine), &counters);
	json_number_object(
		json, "lost", {"records_full", counters.lost[LOSERS_SCHED][LOST_RECORDS_FULL]},
		{"groups_full", counters.hists_refused}, {"slow_ring_full", counters.slow_lost});
}

void sched_get(const struct services *services, struct answer *answer)
{
	status_answer(answer, services, &sched_rules, sched_spec(services->sched), add_status);
}

/* ---- over a restart ---- */

void sched_save(const struct services *services, struct json *json)
{
	saved_spec_write(json, &sched_rules, sched_spec(services->sched));
}

uint32_t sched_begins(char *data, size_t bytes)
{
	_cleanup_(spec_done) struct spec spec = {0};
	struct why why;
	int r = spec_read_unbounded(&sched_rules, data, bytes, &spec, &why);

	return r == 0 && spec.running && spec.probes ? WANTED_SCHED : 0;
}

int sched_restore(const struct services *services, const cJSON *saved, bool same_boot,
		  struct why *why)
{
	_cleanup_(spec_done) struct spec spec = {0};
	int r = saved_spec_read(&sched_rules, saved, same_boot, &spec, why);

	return r < 0 ? r : sched_apply(services->sched, &spec, why);
}

/* ---- GET /sched/PROBE.EXTENSION ---- */

#define STEP_MAX 1000000

struct resource {
	enum sched_probe probe;
	bool json;
	struct sched_scale scale;
};

struct sched_waiting {
	struct answer *answer;
	struct resource resource;
	void (*ready)(void *arg);
	void *arg;
};

/* Splits "runqlat.txt". Returns false if there is no such resource. */
static bool find_resource(const char *name, struct resource *resource)
{
	char probe[SCHED_NAME_BYTES];
	const char *dot = strchr(name, '.');

	if (!dot || (size_t)(dot - name) >= sizeof(probe))
		return false;
	snprintf(probe, sizeof(probe), "%.*s", (int)(dot - name), name);
	int found = sched_kind_find(probe);
	resource->json = strcasecmp(dot, ".json") == 0;
	if (found < 0 || (!resource->json && strcasecmp(dot, ".txt") != 0))
		return false;
	resource->probe = (enum sched_probe)found;
	return true;
}

/* Reads the scale. Returns what is wrong, a sentence; NULL: nothing. */
static const char *read_scale(const struct query *query, struct resource *resource)
{
	bool ms = query->unit && strcmp(query->unit, "ms") == 0;

	if (!query->unit && query->step == QUERY_NONE)
		return NULL;
	if (query->unit && !ms && strcmp(query->unit, "us") != 0)
		return "unit must be us or ms";
	if (!query_is_number(query->step, STEP_MAX))
		return "step must be a number from 1 to 1000000";
	if (sched_form(resource->probe) != SCHED_HIST)
		return "unit and step are for histograms";
	if (query->seconds == QUERY_NONE && query->every == QUERY_NONE)
		return "unit and step need seconds or every: what was counted before has "
		       "powers of two of us";
	if (ms || query->step != QUERY_NONE)
		resource->scale = (struct sched_scale){
			.unit_us = ms ? 1000 : 1,
			.step = query->step == QUERY_NONE ? 0 : (uint32_t)query->step};
	return NULL;
}

/* Returns what is wrong with a query, a sentence; NULL: nothing. */
static const char *check_query(const struct query *query, struct resource *resource)
{
	const char *wrong = query_check_times(query);

	if (wrong)
		return wrong;
	if (query->every != QUERY_NONE && (query->seconds != QUERY_NONE || query->follow == 1))
		return "every, seconds and follow exclude each other";
	if (query->follow < -1 || query->follow > 1)
		return "follow must be 0 or 1";
	if (query->follow == 1 && (sched_form(resource->probe) != SCHED_EVENTS || resource->json))
		return "only runqslower.txt and offcpuslower.txt can be followed";
	if (query->follow == 1 && query->seconds != -1)
		return "seconds and follow exclude each other";
	if (query->pid != QUERY_NONE || query->pids)
		return "pid is no parameter of /sched: PUT snoopers, or group_by pid";
	return read_scale(query, resource);
}

static void begin_answer(struct answer *answer, const struct resource *resource)
{
	answer->status = 200;
	answer->content_type = resource->json ? "application/json" : "text/plain; charset=utf-8";
}

static void fill_answer(struct answer *answer, const struct resource *resource,
			const struct sched_data *data)
{
	begin_answer(answer, resource);
	if (resource->json)
		sched_json(&answer->body, data);
	else
		sched_text(&answer->body, data);
}

static void fail_answer(struct answer *answer, int error)
{
	char message[128];

	if (error == -ENOENT) {
		answer_failed(answer, 404,
			      "it has not run yet: PUT a configuration with state running first, "
			      "or ask with seconds=N");
		return;
	}
	snprintf(message, sizeof(message), "its counts can't be had: %s",
		 error == -ESTALE ? "it began anew meanwhile, for a PUT changed what it counts"
				  : strerror(-error));
	answer_failed(answer, 503, message);
}

static void wait_ended(void *arg, int error, const struct sched_data *data)
{
	struct sched_waiting *waiting = arg;

	if (error < 0)
		fail_answer(waiting->answer, error);
	else
		fill_answer(waiting->answer, &waiting->resource, data);
	waiting->ready(waiting->arg);
	free(waiting);
}

static void give_up(void *arg)
{
	sched_wait_cancel(arg);
}

static void fetch_later(const struct services *services, const struct resource *resource,
			unsigned seconds, struct answer *answer, void (*ready)(void *arg),
			void *arg)
{
	struct sched_waiting *waiting = malloc(sizeof(*waiting));
	struct why why = {"no memory"};
	struct sched_wait *wait;
	int r = -ENOMEM;

	if (waiting) {
		const struct sched_asking asking = {
			.probe = resource->probe,
			.seconds = seconds,
			.times = 1,
			.scale = resource->scale,
			.done = wait_ended,
			.arg = waiting,
		};

		*waiting = (struct sched_waiting){answer, *resource, ready, arg};
		r = sched_wait(services->sched, &asking, &wait, &why);
	}
	if (r < 0) {
		answer_failed(answer, r == -EBUSY ? 429 : 503, why.text);
		free(waiting);
		return;
	}
	answer->cancel = give_up;
	answer->cancel_arg = wait;
}

static void follow_events(const struct services *services, enum sched_probe probe,
			  struct answer *answer)
{
	int r = sched_stream_new(&answer->stream, services->sched, probe);
	char message[128];

	if (r == 0) {
		begin_answer(answer, &(struct resource){.probe = probe});
	} else if (r == -ENOENT) {
		snprintf(message, sizeof(message),
			 "%s doesn't run: PUT it with state running first", probe_name(probe));
		answer_failed(answer, 404, message);
	} else if (r == -EBUSY) {
		answer_failed(answer, 429, "8 clients follow already");
	} else {
		answer_failed(answer, 503, "no memory");
	}
}

/* Answers with measurement after measurement. */
static void repeat_measurement(const struct services *services, const struct resource *resource,
			       const struct query *query, struct answer *answer)
{
	const struct sched_asking asking = {
		.probe = resource->probe,
		.seconds = (unsigned)query->every,
		.times = query->count == QUERY_NONE ? 0 : (unsigned)query->count,
		.scale = resource->scale,
	};
	struct why why = {"no memory"};
	int r = sched_intervals_new(&answer->stream, services->sched, &asking, resource->json,
				    &why);

	if (r < 0)
		answer_failed(answer, r == -EBUSY ? 429 : 503, why.text);
	else
		begin_answer(answer, resource);
}

void sched_need(const char *name, const struct query *query, struct need *need)
{
	bool measures = query->seconds != QUERY_NONE || query->every != QUERY_NONE;

	(void)name;
	need->role = measures ? ROLE_PROFILE : ROLE_READ;
	need->costs = measures || query->follow == 1;
	if ((query->seconds > 0 && query->seconds <= QUERY_SECONDS_MAX) ||
	    (query->every > 0 && query->every <= QUERY_SECONDS_MAX))
		need->begins = WANTED_SCHED;
}

/* Answers with the data so far: made on the loop, from the kernel's maps while the probe runs. */
static void fetch_now(const struct services *services, const struct resource *resource,
		      struct answer *answer)
{
	struct fresh *kept = &services->fresh[FRESH_SCHED + 2 * resource->probe + resource->json];
	_cleanup_sched_data_ struct sched_data fresh = {0};
	const struct sched_data *data;
	uint64_t began_ns = loop_now_ns();

	if (fresh_give(kept, false, answer))
		return;
	int r = sched_read(services->sched, resource->probe, &fresh, &data);
	if (r < 0)
		fail_answer(answer, r);
	else
		fill_answer(answer, resource, data);
	fresh_keep(kept, answer, began_ns);
}

void sched_fetch(const struct services *services, const char *name, const struct query *query,
		 struct answer *answer, void (*ready)(void *arg), void *arg)
{
	struct resource resource = {0};

	if (!find_resource(name, &resource)) {
		answer_failed(answer, 404, "url not found");
		return;
	}
	const char *wrong = check_query(query, &resource);
	if (wrong) {
		answer_failed(answer, 400, wrong);
	} else if (query->follow == 1) {
		follow_events(services, resource.probe, answer);
	} else if (query->every > 0) {
		repeat_measurement(services, &resource, query, answer);
	} else if (query->seconds > 0) {
		fetch_later(services, &resource, (unsigned)query->seconds, answer, ready, arg);
	} else {
		fetch_now(services, &resource, answer);
	}
}
