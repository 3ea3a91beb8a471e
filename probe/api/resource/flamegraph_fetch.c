// SPDX-License-Identifier: GPL-2.0-or-later
/* GET /flamegraph/PROBE.EXTENSION: a profile of what was collected, or of the next seconds. */
#include "api/resource/flamegraph.h"
#include "api/resource/flamegraph_intervals.h"
#include "api/resource/flamegraph_range.h"

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

#define SECONDS_MAX 600
#define PID_MAX	    4194304
#define AGE_MAX	    31536000 /* s, a year */
#define STACKS_MAX  1000000

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
	if (probe >= 0 && ((query->seconds > 0 && query->seconds <= SECONDS_MAX) ||
			   (query->every > 0 && query->every <= SECONDS_MAX)))
		need->begins = 1u << probe;
	need->own = is_session && query->pid > 0 && probe >= 0 && kind_get(probe)->for_users;
}

/* A query's meaning for a probe. */
struct query_choice {
	enum view view;
	uint64_t min_age_ns;
	struct stack_choice stacks;
};

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

static bool is_count(const struct query *query)
{
	return query->value && strcasecmp(query->value, "count") == 0;
}

/* Checks which stacks are wanted, by their values. Returns what is wrong; NULL: nothing. */
static const char *check_stacks(const struct output *output, const struct query *query)
{
	bool is_text =
		strcmp(output->extension, "folded") == 0 || strcmp(output->extension, "jsonl") == 0;

	if (query->top != QUERY_NONE && (query->top < 1 || query->top > STACKS_MAX))
		return "top must be a number from 1 to 1000000";
	if (query->min < QUERY_NONE || query->max < QUERY_NONE || query->max == 0)
		return "min and max must be whole numbers, of the unit of the values; max from 1 "
		       "on";
	if (query->max > 0 && query->min > query->max)
		return "min must not be more than max";
	if (query->sort && strcasecmp(query->sort, "name") != 0 &&
	    strcasecmp(query->sort, "value") != 0)
		return "sort must be name or value";
	return query->sort && !is_text ? "sort is for folded and jsonl" : NULL;
}

/* Checks intervals. Returns what is wrong; NULL: nothing. */
static const char *check_every(const struct output *output, const struct query *query)
{
	if (query->count != QUERY_NONE && query->every == QUERY_NONE)
		return "count needs every";
	if (query->every == QUERY_NONE)
		return NULL;
	if (query->every < 1 || query->every > SECONDS_MAX)
		return "every must be a number from 1 to 600";
	if (query->count != QUERY_NONE && (query->count < 1 || query->count > STACKS_MAX))
		return "count must be a number from 1 to 1000000";
	if (query->seconds != QUERY_NONE)
		return "every and seconds exclude each other";
	return output->picture || output->values || output->modules
		       ? "every is for folded, json and jsonl"
		       : NULL;
}

static struct stack_choice choice_of(const struct query *query)
{
	bool is_sorted = query->sort ? strcasecmp(query->sort, "value") == 0 : query->top > 0;

	return (struct stack_choice){
		.min = query->min > 0 ? (uint64_t)query->min : 0,
		.max = query->max > 0 ? (uint64_t)query->max : 0,
		.top = query->top > 0 ? (uint64_t)query->top : 0,
		.by_value = is_sorted,
	};
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
		.stacks = choice_of(query),
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

/* Reads several processes' numbers. Returns whether they are such. */
static bool read_pids(const char *text, struct ondemand_request *request)
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
	return read_pids(query->pids, &request)
		       ? NULL
		       : "pids must be up to 64 numbers from 1 to 4194304, "
			 "with commas between";
}

static bool check_query(enum probe probe, const struct output *output, const struct query *query,
			struct query_choice *choice, struct answer *answer)
{
	const char *message = NULL;
	struct why buf;

	if (query->seconds != QUERY_NONE && (query->seconds < 1 || query->seconds > SECONDS_MAX))
		message = "seconds must be a number from 1 to 600";
	else if (query->icicle < QUERY_NONE || query->icicle > 1)
		message = "icicle must be 0 or 1";
	else if (query->header < QUERY_NONE || query->header > 1)
		message = "header must be 0 or 1";
	else if (query->value && !is_count(query) && !is_second(probe, query->value))
		message = message_on_value(probe, &buf);
	else if (is_count(query) && output->values)
		message = "value is not for pb.gz: it has both values";
	else
		message = check_stacks(output, query);
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
	if (!is_count(query) || view_get(probe, choice->view)->event_name)
		return true;
	refuse_value(answer);
	return false;
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
		.events = is_count(query),
		.choice = choice->stacks,
		.output = output,
	};
	if (spec)
		params_detail(&spec->params, &request->detail);
	request->detail.places = output_has_places(output);
	request->detail.without_kernel = query->of_user && !may_see_kernel();
	if (query->pids)
		read_pids(query->pids, request);
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
		.events = is_count(query),
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
	    !check_query(probe, output, query, &choice, answer))
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
		.events = is_count(query),
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
