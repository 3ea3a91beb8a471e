// SPDX-License-Identifier: GPL-2.0-or-later
/* GET /flamegraph/PROBE.EXTENSION: a profile of what was collected, or of the next seconds. */
#include "api/resource/flamegraph.h"
#include "api/resource/flamegraph_intervals.h"
#include "api/resource/flamegraph_query.h"
#include "api/history/flamegraph_range.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "session/settings.h"
#include "kind/kind.h"
#include "profile/view.h"

struct waiting {
	struct answer *answer;
	const struct output *output;
	void (*ready)(void *arg);
	void *arg;
};

static void fill_answer(struct answer *answer, const struct output *output, int error,
			struct buf *content)
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

static void profile_fetched(void *arg, int error, struct buf *content)
{
	struct waiting *waiting = arg;

	fill_answer(waiting->answer, waiting->output, error, content);
	waiting->ready(waiting->arg);
	free(waiting);
}

/* Returns the probe of "oncpu.svg", and *extension, the text after the dot; or -ENOENT. */
static int find_probe(const char *name, const char **extension)
{
	const char *dot = strchr(name, '.');
	char probe_name[EVENT_WORD_BYTES + 8];

	if (!dot || dot == name || (size_t)(dot - name) >= sizeof(probe_name))
		return -ENOENT;
	snprintf(probe_name, sizeof(probe_name), "%.*s", (int)(dot - name), name);
	*extension = dot + 1;
	return kind_find(probe_name);
}

/* Splits "oncpu.svg" into probe and output. False: the answer is filled in. */
static bool find_resource(const char *name, enum probe *probe, const struct output **output,
			  struct answer *answer)
{
	const char *extension;
	int found = find_probe(name, &extension);

	*output = found < 0 ? NULL : output_find(extension);
	if (found < 0 || !*output) {
		answer_failed(answer, 404, "url not found");
		return false;
	}
	*probe = (enum probe)found;
	return true;
}

void flamegraph_need(const char *name, const struct query *query, struct need *need)
{
	const char *extension;
	int probe = find_probe(name, &extension);
	bool is_session = query->seconds != QUERY_NONE || query->every != QUERY_NONE;

	need->role = is_session ? ROLE_PROFILE : ROLE_READ;
	need->costs = true;
	if (probe >= 0 && ((query->seconds > 0 && query->seconds <= QUERY_SECONDS_MAX) ||
			   (query->every > 0 && query->every <= QUERY_SECONDS_MAX)))
		need->begins = 1u << probe;
	need->own = is_session && query->pid > 0 && probe >= 0 && kind_get(probe)->for_users;
}

/* Returns whether the root is on top: as the query says, else as the param does. */
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

static void give_up(void *arg)
{
	ondemand_cancel(arg);
}

/*
 * Returns whether users who aren't administrators may see the kernel's frames of their own
 * processes. Source: kernel.perf_event_paranoid in Documentation/admin-guide/sysctl/kernel.rst
 */
static bool may_see_kernel(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(16);

	if (file_read(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", &text) < 0)
		return false;
	buf_char(&text, '\0');
	return !buf_error(&text) && strtol(text.data, NULL, 10) <= 1;
}

/* Fills in a session of `seconds` for the query. False: the answer is filled in. */
static bool fill_request(const struct services *services, enum probe probe,
			 const struct query *query, const struct query_choice *choice,
			 const struct output *output, struct ondemand_request *request,
			 struct answer *answer)
{
	const struct spec *spec = session_spec(services->flamegraph);

	*request = (struct ondemand_request){
		.probe = probe,
		.view = choice->view,
		.min_age_ns = choice->min_age_ns,
		.pid = query->pid > 0 ? (int)query->pid : 0,
		.of_user = query->of_user,
		.user = query->user,
		.detail = {.thread_frame = true},
		.icicle = is_icicle(spec, query),
		.header = query->header == 1,
		.events = query_counts(query),
		.choice = choice->stacks,
		.output = output,
	};
	if (spec)
		params_detail(&spec->params, &request->detail);
	request->detail.places = output_has_places(output);
	request->detail.without_kernel = query->of_user && !may_see_kernel();
	if (query->pids)
		query_pids(query->pids, request);
	if (request->pid || spec)
		return true;
	answer_failed(answer, 400, "no process is selected: give pid=N, or PUT snoopers first");
	return false;
}

static void start_ondemand(const struct services *services, enum probe probe,
			   const struct query *query, const struct query_choice *choice,
			   struct waiting *waiting)
{
	struct answer *answer = waiting->answer;
	struct ondemand_request request;
	struct ondemand *session;
	struct why why = {0};

	if (!fill_request(services, probe, query, choice, waiting->output, &request, answer)) {
		free(waiting);
		return;
	}
	request.seconds = (unsigned)query->seconds;
	request.done = profile_fetched;
	request.arg = waiting;
	int r = ondemand_start(services->ondemands, &request, &session, &why);
	if (r < 0) {
		answer_failed(answer, status_of(r), why.text);
		free(waiting);
		return;
	}
	answer->cancel = give_up;
	answer->cancel_arg = session;
}

/* Answers with a profile of each interval. */
static void start_intervals(const struct services *services, enum probe probe,
			    const struct query *query, const struct query_choice *choice,
			    const struct output *output, struct answer *answer)
{
	struct ondemand_request request;
	struct why why = {0};

	if (!fill_request(services, probe, query, choice, output, &request, answer))
		return;
	request.seconds = (unsigned)query->every;
	request.times = query->count > 0 ? (unsigned)query->count : 0;
	int r = flamegraph_intervals_new(&answer->stream, services->ondemands, &request, &why);
	if (r < 0) {
		answer_failed(answer, status_of(r), why.text);
		return;
	}
	answer->status = 200;
	answer->content_type = output->content_type;
}

/* Answers with a range of history. */
static void fetch_range(const struct services *services, enum probe probe,
			const struct query *query, const struct query_choice *choice,
			const struct output *output, struct answer *answer,
			void (*ready)(void *arg), void *arg)
{
	struct render form = {
		.node = TREE_ROOT,
		.icicle = is_icicle(session_spec(services->flamegraph), query),
		.header = query->header == 1,
		.events = query_counts(query),
		.choice = choice->stacks,
		.host = services->host,
		.outputs = {output},
	};

	flamegraph_range(services, probe, choice->view, query, &form, answer, ready, arg);
}

void flamegraph_fetch(const struct services *services, const char *name, const struct query *query,
		      struct answer *answer, void (*ready)(void *arg), void *arg)
{
	const struct output *output;
	enum probe probe;
	struct query_choice choice;

	if (!find_resource(name, &probe, &output, answer) ||
	    !flamegraph_query(probe, output, query, &choice, answer))
		return;
	if (query_has_range(query)) {
		fetch_range(services, probe, query, &choice, output, answer, ready, arg);
		return;
	}
	if (query->every > 0) {
		start_intervals(services, probe, query, &choice, output, answer);
		return;
	}
	struct waiting *waiting = malloc(sizeof(*waiting));
	if (!waiting) {
		answer_failed(answer, 503, "no memory");
		return;
	}
	*waiting = (struct waiting){answer, output, ready, arg};
	if (query->seconds > 0) {
		start_ondemand(services, probe, query, &choice, waiting);
		return;
	}
	struct session_question question = {
		.probe = probe,
		.view = choice.view,
		.min_age_ns = choice.min_age_ns,
		.pid = query->pid > 0 ? (int)query->pid : 0,
		.icicle = is_icicle(session_spec(services->flamegraph), query),
		.header = query->header == 1,
		.events = query_counts(query),
		.choice = choice.stacks,
		.output = output,
		.done = profile_fetched,
		.arg = waiting,
	};
	int r = session_fetch(services->flamegraph, &question);
	if (r < 0) {
		answer_failed(answer, r == -ENOENT ? 404 : 503,
			      r == -ENOENT ? "there is no profile yet: PUT a configuration with "
					     "state running first, or ask with seconds=N"
					   : "no memory");
		free(waiting);
	}
}
