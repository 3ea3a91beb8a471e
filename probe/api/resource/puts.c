// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/resource/puts.h"

#include <errno.h>
#include <stdlib.h>

#include "api/resource/flamegraph.h"
#include "api/request/put_check.h"
#include "api/resource/state_file.h"
#include "base/cleanup.h"
#include "base/log.h"

#define LIMIT_NS (3 * NS_PER_S)

/* A PUT. The body is borrowed until ready() is called or it is withdrawn, and so is the answer. */
struct put {
	struct put *next;
	struct puts *puts;
	const struct services *services;
	char *data;
	size_t bytes;
	struct answer *answer; /* NULL: the client has gone */
	void (*ready)(void *arg);
	void *arg;
	struct spec spec; /* while it waits for one of these: */
	struct put_check *check;
	bool is_loading; /* for BPF objects */
};

struct puts {
	struct worker *worker; /* checks folders */
	struct put *first, **end;
};

int puts_new(struct puts **ret, struct loop *loop)
{
	struct puts *puts = calloc(1, sizeof(*puts));
	int r = puts ? worker_new(&puts->worker, loop, "folders", LIMIT_NS) : -ENOMEM;

	if (r < 0) {
		free(puts);
		return r;
	}
	worker_set_nice(puts->worker, WORKER_PROMPT);
	puts->end = &puts->first;
	*ret = puts;
	return 0;
}

void puts_stop(struct puts *puts)
{
	if (puts)
		worker_stop(puts->worker);
}

/* Frees a PUT; what is under way for it then reports to nobody. */
static void put_free(struct put *put)
{
	if (put->check)
		put_check_forget(put->check);
	if (put->is_loading)
		engine_forget(put->services->engine, put);
	spec_done(&put->spec);
	free(put);
}

static struct put *take_first(struct puts *puts)
{
	struct put *put = puts->first;

	puts->first = put->next;
	if (!puts->first)
		puts->end = &puts->first;
	return put;
}

void puts_free(struct puts *puts)
{
	if (!puts)
		return;
	while (puts->first) {
		struct put *put = take_first(puts);

		put->check = NULL; /* it ended with the worker */
		put_free(put);
	}
	worker_free(puts->worker);
	free(puts);
}

static void looked_at(void *arg, const struct put_verdict *verdict);

static void refuse_put(const struct put *put, const struct put_verdict *verdict)
{
	if (verdict->detail.text[0])
		notes_explain(&put->answer->notes, "%s", verdict->detail.text);
	flamegraph_refuse(put->answer, verdict->status, verdict->message.text);
}

/* Reads the body. False: the answer is filled in, or a check of folders is under way. */
static bool begin_put(struct put *put)
{
	struct request_folders folders = {0};
	const struct put_question question = {.worker = put->puts->worker,
					      .roots = &put->services->bounds.roots,
					      .folders = &folders,
					      .params = &put->spec.params,
					      .events = flamegraph_rules.events};
	struct put_verdict verdict;

	if (!flamegraph_read(put->services, put->data, put->bytes, &put->spec, &folders,
			     put->answer))
		return false;
	if (!folders.count && !folders.has_events)
		return true;
	if (!put->ready) {
		put_check_wait(&question, &verdict);
		if (verdict.status)
			refuse_put(put, &verdict);
		return !verdict.status;
	}
	if (put_check_begin(&put->check, &question, looked_at, put) < 0)
		flamegraph_refuse(put->answer, 503, "no memory");
	return false;
}

/*
 * Reports a PUT that was decided after its request. The end of the request may begin another one.
 */
static void report_put(struct put *put)
{
	if (put->answer->status == 200 || put->answer->later == 200)
		state_save(put->services);
	if (put->answer->status)
		put->ready(put->arg);
	put_free(put);
}

static void put_loaded(void *arg);

static void apply_put(struct put *put)
{
	flamegraph_apply(put->services, &put->spec, put->answer, put->ready, put->arg);
}

/* Applies the body that was read, at once or when its BPF objects are loaded. */
static void load_put(struct put *put)
{
	uint32_t probes = session_begins(put->services->flamegraph, &put->spec);

	put->is_loading =
		put->ready && probes &&
		engine_prepare(put->services->engine, probes, put->spec.snoopers, put_loaded, put);
	if (!put->is_loading)
		apply_put(put);
}

/* Handles the PUTs that waited, up to the next one that has to wait longer. */
static void go_on(struct puts *puts)
{
	while (puts->first && !puts->first->check && !puts->first->is_loading) {
		struct put *put = puts->first;

		if (begin_put(put))
			load_put(put);
		if (!put->check && !put->is_loading)
			report_put(take_first(puts));
	}
}

/* Ends the first PUT, which is decided or withdrawn, and goes on to the others. */
static void end_first(struct puts *puts)
{
	struct put *put = take_first(puts);

	if (put->answer)
		report_put(put);
	else
		put_free(put);
	go_on(puts);
}

static void put_loaded(void *arg)
{
	struct put *put = arg;

	put->is_loading = false;
	if (put->answer)
		apply_put(put);
	end_first(put->puts);
}

static void looked_at(void *arg, const struct put_verdict *verdict)
{
	struct put *put = arg;

	put->check = NULL; /* the check frees itself */
	if (put->answer && verdict->status)
		refuse_put(put, verdict);
	else if (put->answer)
		load_put(put);
	if (!put->is_loading)
		end_first(put->puts);
}

void puts_take(struct puts *puts, const struct services *services, char *data, size_t bytes,
	       struct answer *answer, void (*ready)(void *arg), void *arg)
{
	struct put *put = calloc(1, sizeof(*put));

	if (!put) {
		flamegraph_refuse(answer, 503, "no memory");
		return;
	}
	*put = (struct put){.puts = puts,
			    .services = services,
			    .data = data,
			    .bytes = bytes,
			    .answer = answer,
			    .ready = ready,
			    .arg = arg};
	bool waits = puts->first;
	if (!waits) {
		if (begin_put(put))
			load_put(put);
		if (!put->check && !put->is_loading) {
			put_free(put);
			return;
		}
	}
	*puts->end = put;
	puts->end = &put->next;
}

void puts_forget(struct puts *puts, const void *arg)
{
	for (struct put **at = &puts->first; *at; at = &(*at)->next) {
		struct put *put = *at;

		if (put->arg != arg || !put->answer)
			continue;
		if (put->check || put->is_loading) { /* PUTs after it go on when that ends */
			put->answer = NULL;
			return;
		}
		*at = put->next;
		if (puts->end == &put->next)
			puts->end = at;
		put_free(put);
		return;
	}
}
