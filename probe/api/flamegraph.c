// SPDX-License-Identifier: GPL-2.0-only
#include "api/flamegraph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/request.h"
#include "api/status.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "profile/kind.h"

#define SECONDS_MAX 600
#define PID_MAX	    4194304

/* None of the probes asked for can run: the first one's reason stands for all. */
static void refuse_probes(uint32_t probes, struct answer *answer)
{
	char message[128];

	for (int i = 0; i < PROBE_COUNT; i++) {
		if (!(probes & 1u << i))
			continue;
		snprintf(message, sizeof(message), "not available in this version: %s",
			 kind_get(i)->name);
		answer_failed(answer, 503, message);
		return;
	}
}

void flamegraph_put(const struct services *services, char *data, size_t bytes,
		    struct answer *answer, void (*ready)(void *arg), void *arg)
{
	const struct spec *before = session_spec(services->flamegraph);
	char message[REQUEST_MESSAGE_MAX], why[256] = "";
	_cleanup_(spec_done) struct spec spec = {0};
	int r = request_parse(data, bytes, "flamegraph", before, &services->roots, &spec, message);

	if (r < 0) {
		log_info("PUT /flamegraph refused: %s", message);
		answer_failed(answer, r == -ENOMEM ? 503 : 400, message);
		return;
	}
	if (spec.probes && !(spec.probes & kinds_built())) {
		refuse_probes(spec.probes, answer);
		return;
	}
	r = session_apply(services->flamegraph, &spec, why, sizeof(why));
	if (r < 0) {
		log_error("PUT /flamegraph can't be done: %s", why);
		answer_failed(answer, 503, why);
		return;
	}
	log_info("PUT /flamegraph: new config takes effect, state %s",
		 spec.running ? "running" : "stopped");
	answer->status = 200;
	answer->content_type = "application/json";
	buf_str(&answer->body,
		"{ \"result\": \"success\", \"message\":\"New config takes effect\" }\n");
	if (ready && engine_when_armed(services->engine, ready, arg)) {
		answer->later = answer->status;
		answer->status = 0;
	}
}

void flamegraph_get(const struct services *services, struct answer *answer)
{
	answer->status = 200;
	answer->content_type = "application/json";
	engine_refresh(services->engine);
	if (!session_spec(services->flamegraph))
		buf_str(&answer->body, "{}");
	else if (status_write(services, &answer->body) < 0)
		answer_failed(answer, 503, "no memory");
	buf_char(&answer->body, '\n');
}

/* ---- over a restart ---- */

#define STARTS "proc_id_start" /* start times of snoopers.proc_id, in clock ticks; 0: none */

cJSON *flamegraph_saved(const struct services *services)
{
	const struct spec *spec = session_spec(services->flamegraph);
	const struct id_snooper *ids;

	if (!spec)
		return NULL;
	cJSON *root = status_config(spec), *starts = cJSON_AddArrayToObject(root, STARTS);
	size_t count = snoopers_ids(spec->snoopers, &ids);
	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(
			starts,
			cJSON_CreateNumber(ids[i].existed ? (double)ids[i].start_ticks : 0));
	return root;
}

/* The processes meant are those of then; after a boot there are none. */
static int set_starts(struct snoopers *snoopers, const cJSON *starts)
{
	size_t count = (size_t)cJSON_GetArraySize(starts), i = 0;
	_cleanup_free_ uint64_t *ticks = calloc(count + 1, sizeof(*ticks));
	const cJSON *start;

	if (!ticks)
		return -ENOMEM;
	cJSON_ArrayForEach (start, starts)
		ticks[i++] =
			cJSON_IsNumber(start) && start->valuedouble > 0 && start->valuedouble < 9e15
				? (uint64_t)start->valuedouble
				: 0;
	snoopers_set_starts(snoopers, ticks, count);
	return 0;
}

int flamegraph_restore(const struct services *services, const cJSON *saved, bool same_boot,
		       char *why, size_t why_bytes)
{
	_cleanup_(spec_done) struct spec spec = {0};
	char message[REQUEST_MESSAGE_MAX];
	char *text = cJSON_PrintUnformatted(saved);
	const cJSON *starts = cJSON_GetObjectItemCaseSensitive(saved, STARTS);
	int r = -ENOMEM;

	snprintf(why, why_bytes, "no memory");
	if (!text)
		return r;
	r = request_parse(text, strlen(text), "flamegraph", NULL, &services->roots, &spec, message);
	cJSON_free(text);
	if (r < 0) {
		snprintf(why, why_bytes, "%s", message);
		return r;
	}
	r = set_starts(spec.snoopers, same_boot ? starts : NULL);
	return r < 0 ? r : session_apply(services->flamegraph, &spec, why, why_bytes);
}

/* ---- GET /flamegraph/PROBE.EXTENSION ---- */

struct waiting {
	struct answer *answer;
	const struct output *output;
	void (*ready)(void *arg);
	void *arg;
};

static void fill(struct answer *answer, const struct output *output, int error, struct buf *content)
{
	char message[128];

	if (error == 0) {
		answer->status = 200;
		answer->content_type = output->content_type;
		buf_done(&answer->body);
		answer->body = *content;
		content->data = NULL;
		content->len = content->capacity = 0;
		return;
	}
	snprintf(message, sizeof(message), "the profile can't be made: %s",
		 error == -ENOSPC ? "it is too big" : strerror(-error));
	answer_failed(answer, 503, message);
}

static void fetched(void *arg, int error, struct buf *content)
{
	struct waiting *waiting = arg;

	fill(waiting->answer, waiting->output, error, content);
	waiting->ready(waiting->arg);
	free(waiting);
}

/* "oncpu.svg" -> the probe and the output; false: the answer is filled. */
static bool find_resource(const char *name, enum probe *probe, const struct output **output,
			  struct answer *answer)
{
	char message[128], probe_name[32];
	const char *dot = strchr(name, '.');

	if (!dot || dot == name || (size_t)(dot - name) >= sizeof(probe_name)) {
		answer_failed(answer, 404, "url not found");
		return false;
	}
	snprintf(probe_name, sizeof(probe_name), "%.*s", (int)(dot - name), name);
	int found = kind_find(probe_name);
	*output = output_find(dot + 1);
	if (found < 0 || (!*output && strcmp(dot, ".pb.gz") != 0)) {
		answer_failed(answer, 404, "url not found");
		return false;
	}
	*probe = (enum probe)found;
	if (!kind_get(*probe)->built || !*output) {
		snprintf(message, sizeof(message), "not available in this version: %s",
			 *output ? kind_get(*probe)->name : "pb.gz");
		answer_failed(answer, 503, message);
		return false;
	}
	return true;
}

static bool check_query(const struct query *query, struct answer *answer)
{
	if (query->pid != -1 && (query->pid < 1 || query->pid > PID_MAX)) {
		answer_failed(answer, 400, "pid must be a number from 1 to 4194304");
		return false;
	}
	if (query->seconds != -1 && (query->seconds < 1 || query->seconds > SECONDS_MAX)) {
		answer_failed(answer, 400, "seconds must be a number from 1 to 600");
		return false;
	}
	if (query->icicle < -1 || query->icicle > 1) {
		answer_failed(answer, 400, "icicle must be 0 or 1");
		return false;
	}
	return true;
}

/* Whether the root is on top: as the query says, else as the param does. */
static bool is_icicle(const struct spec *spec, const struct query *query)
{
	return query->icicle >= 0 ? query->icicle : spec && spec->params.icicle;
}

static unsigned status_of(int error)
{
	switch (error) {
	case -EBUSY:
		return 429;
	case -ESRCH:
		return 404;
	default:
		return 503;
	}
}

static void start_ondemand(const struct services *services, enum probe probe,
			   const struct query *query, struct waiting *waiting,
			   struct ondemand **session)
{
	const struct spec *spec = session_spec(services->flamegraph);
	struct answer *answer = waiting->answer;
	struct ondemand_request request = {
		.probe = probe,
		.seconds = (unsigned)query->seconds,
		.pid = query->pid > 0 ? (int)query->pid : 0,
		.thread_frame = !spec || spec->params.thread_frame,
		.icicle = is_icicle(spec, query),
		.output = waiting->output,
		.done = fetched,
		.arg = waiting,
	};
	char why[256] = "";

	if (!request.pid && !spec) {
		answer_failed(answer, 400,
			      "no process is selected: give pid=N, or PUT snoopers first");
		free(waiting);
		return;
	}
	int r = ondemand_start(services->ondemands, &request, session, why, sizeof(why));
	if (r < 0) {
		answer_failed(answer, status_of(r), why);
		free(waiting);
	}
}

void flamegraph_fetch(const struct services *services, const char *name, const struct query *query,
		      struct answer *answer, void (*ready)(void *arg), void *arg,
		      struct ondemand **session)
{
	const struct output *output;
	enum probe probe;

	if (!find_resource(name, &probe, &output, answer) || !check_query(query, answer))
		return;
	struct waiting *waiting = malloc(sizeof(*waiting));
	if (!waiting) {
		answer_failed(answer, 503, "no memory");
		return;
	}
	*waiting = (struct waiting){answer, output, ready, arg};
	if (query->seconds > 0) {
		start_ondemand(services, probe, query, waiting, session);
		return;
	}
	int r = session_fetch(services->flamegraph, probe, query->pid > 0 ? (int)query->pid : 0,
			      is_icicle(session_spec(services->flamegraph), query), output, fetched,
			      waiting);
	if (r < 0) {
		answer_failed(answer, r == -ENOENT ? 404 : 503,
			      r == -ENOENT ? "there is no profile yet: PUT a configuration with "
					     "state running first, or ask with seconds=N"
					   : "no memory");
		free(waiting);
	}
}
