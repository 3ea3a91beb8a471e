// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/processes/proc_resource.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/processes/proc_output.h"
#include "api/status/saved_spec.h"
#include "api/status/status.h"
#include "base/cleanup.h"
#include "journal/event_journal.h"
#include "base/log.h"
#include "costs/accounting.h"
#include "costs/counting.h"
#include "costs/proc_params.h"

#define NAME_BYTES 32

static const char *probe_name(unsigned probe)
{
	return cost_kind_get(probe)->name;
}

static int find_probe(const struct params *params, const char *name)
{
	(void)params;
	return cost_kind_find(name);
}

const struct rules proc_rules = {
	.feature = "proc",
	.params = proc_params,
	.probes_count = COST_PROBES,
	.probe_name = probe_name,
	.probe_find = find_probe,
	.everybody = true,
	.probes_share = true,
};

void proc_put(const struct services *services, char *data, size_t bytes, struct answer *answer,
	      void (*ready)(void *arg), void *arg)
{
	struct why why = {0};
	_cleanup_(spec_done) struct spec spec = {0};
	int r = request_parse(data, bytes, &proc_rules, accounting_spec(services->accounting),
			      &services->bounds, &spec, NULL, &answer->notes, &why);

	(void)ready;
	(void)arg;
	if (r < 0) {
		log_info("PUT /proc refused: %s", why.text);
		answer_failed(answer, r == -ENOMEM ? 503 : 400, why.text);
		return;
	}
	r = accounting_apply(services->accounting, &spec, &why);
	if (r < 0) {
		log_error("PUT /proc can't be done: %s", why.text);
		answer_failed(answer, 503, why.text);
		return;
	}
	log_info("PUT /proc: new config takes effect, state %s",
		 spec.running ? "running" : "stopped");
	journal_note(JOURNAL_PUT, "/proc %s", spec.running ? "running" : "stopped");
	answer_log_warnings(answer, "PUT /proc");
	answer_taken(answer);
}

/* ---- GET /proc ---- */

static void add_status(struct json *json, const struct services *services, const struct spec *spec)
{
	const struct tracer *tracer = engine_tracer(services->engine);
	struct cost_table_stats stats;
	struct costs_lost lost;

	json_object(json, "probes");
	for (int i = 0; i < COST_PROBES; i++) {
		const struct cost_kind *kind = cost_kind_get(i);
		const char *absent = counting_absent(tracer, i);

		if (!(spec->probes & 1u << i))
			continue;
		json_object(json, kind->name);
		json_text(json, "state", accounting_state(services->accounting, i));
		json_text(json, "reason", "");
		if (absent)
			json_text(json, "absent", absent);
		json_object_end(json);
	}
	json_object_end(json);
	accounting_stats(services->accounting, &stats);
	tracer_costs_lost(tracer, &lost);
	json_numbers(json, {"processes", stats.processes}, {"ended", stats.ended},
		     {"cgroups", stats.cgroups});
	json_number_object(json, "lost", {"threads", lost.threads}, {"processes", lost.processes},
			   {"no_room", stats.refused},
			   {"softirqs", tracer_counter_lost(tracer, COUNTER_SOFTIRQ)},
			   {"pages", tracer_counter_lost(tracer, COUNTER_CACHE)},
			   {"wakeups", tracer_counter_lost(tracer, COUNTER_WAKE)},
			   {"switches", tracer_counter_lost(tracer, COUNTER_PMU)});
}

void proc_get(const struct services *services, struct answer *answer)
{
	status_answer(answer, services, &proc_rules, accounting_spec(services->accounting),
		      add_status);
}

/* ---- over a restart ---- */

void proc_save(const struct services *services, struct json *json)
{
	saved_spec_write(json, &proc_rules, accounting_spec(services->accounting));
}

uint32_t proc_begins(char *data, size_t bytes)
{
	_cleanup_(spec_done) struct spec spec = {0};
	struct why why;
	int r = spec_read_unbounded(&proc_rules, data, bytes, &spec, &why);

	return r == 0 && spec.running && spec.probes ? WANTED_COSTS : 0;
}

int proc_restore(const struct services *services, const cJSON *saved, bool same_boot,
		 struct why *why)
{
	_cleanup_(spec_done) struct spec spec = {0};
	int r = saved_spec_read(&proc_rules, saved, same_boot, &spec, why);

	return r < 0 ? r : accounting_apply(services->accounting, &spec, why);
}

/* ---- GET /proc/PROBE.EXTENSION ---- */

struct proc_waiting {
	struct answer *answer;
	const struct proc_form *form;
	struct proc_choice choice;
	void (*ready)(void *arg);
	void *arg;
	bool is_over; /* before the fetch was left */
	bool is_left;
};

static bool find_resource(const char *name, struct proc_waiting *waiting)
{
	char probe[NAME_BYTES];
	const char *dot = strchr(name, '.');

	if (!dot || (size_t)(dot - name) >= sizeof(probe))
		return false;
	snprintf(probe, sizeof(probe), "%.*s", (int)(dot - name), name);
	int found = strcasecmp(probe, cost_kind_get(PROC_ALL)->name) == 0 ? PROC_ALL
									  : cost_kind_find(probe);
	if (found < 0)
		return false;
	waiting->choice.probe = (enum cost_probe)found;
	waiting->form = proc_form_find(dot);
	return waiting->form;
}

/* Returns what is wrong with a query, a sentence; NULL: nothing. */
static const char *read_choice(const struct query *query, struct proc_choice *choice)
{
	const struct cost_kind *kind = cost_kind_get(choice->probe);
	int by = query->by ? cost_find(query->by) : (int)kind->key;

	if (query->top != QUERY_NONE && query->top < 1)
		return "top must be a number from 1 on";
	if (by < 0 || !(kind->values & 1ULL << by))
		return "by must be one of the probe's values";
	if (query->pid != QUERY_NONE || query->pids)
		return "pid is no parameter of /proc: PUT snoopers";
	if (query->group_by && cost_group_find(query->group_by) < 0)
		return "group_by must be one of pid, comm, cgroup, container, pod, none";
	choice->by = (enum cost)by;
	choice->top = query->top == QUERY_NONE ? SIZE_MAX : (size_t)query->top;
	if (query->every != QUERY_NONE && query->seconds != QUERY_NONE)
		return "every and seconds exclude each other";
	return query_check_times(query);
}

static void answer_costs(void *arg, int error, const struct cost_answer *costs)
{
	struct proc_waiting *waiting = arg;
	struct answer *answer = waiting->answer;
	char message[128];

	if (error == 0) {
		answer->status = 200;
		answer->content_type = waiting->form->type;
		waiting->form->write(&answer->body, costs, &waiting->choice);
	} else {
		snprintf(message, sizeof(message), "what processes cost can't be had: %s",
			 error == -ENOENT ? "it was stopped meanwhile" : strerror(-error));
		answer_failed(answer, 503, message);
	}
	waiting->is_over = true;
	if (!waiting->is_left)
		return;
	waiting->ready(waiting->arg);
	free(waiting);
}

static void give_up(void *arg)
{
	cost_wait_cancel(arg);
}

static void refuse_asking(struct answer *answer, int error, const struct why *why)
{
	answer_failed(answer, error == -EBUSY ? 429 : error == -ENOENT ? 404 : 503, why->text);
}

static struct cost_asking asking_of(const struct query *query, enum cost_probe probe)
{
	long long seconds = query->every > 0 ? query->every : query->seconds;

	return (struct cost_asking){
		.probe = probe,
		.seconds = seconds > 0 ? (unsigned)seconds : 0,
		.times = query->every > 0 ? (query->count > 0 ? (unsigned)query->count : 0) : 1,
		.by = query->group_by ? cost_group_find(query->group_by) : -1,
	};
}

/* Answers with measurement after measurement. */
static void repeat_measurement(const struct services *services, const struct query *query,
			       const struct proc_waiting *found)
{
	const struct cost_asking asking = asking_of(query, found->choice.probe);
	struct answer *answer = found->answer;
	struct why why;
	int r = proc_intervals_new(&answer->stream, services->accounting, &asking, &found->choice,
				   found->form, &why);

	if (r < 0) {
		refuse_asking(answer, r, &why);
		return;
	}
	answer->status = 200;
	answer->content_type = found->form->type;
}

static void fetch_costs(const struct services *services, const struct query *query,
			struct proc_waiting *waiting)
{
	struct cost_asking asking = asking_of(query, waiting->choice.probe);
	struct answer *answer = waiting->answer;
	struct cost_wait *wait;
	struct why why;

	asking.done = answer_costs;
	asking.arg = waiting;
	int r = accounting_read(services->accounting, &asking, &wait, &why);
	waiting->is_left = true;
	if (r < 0) {
		refuse_asking(answer, r, &why);
		free(waiting);
	} else if (waiting->is_over) {
		free(waiting);
	} else if (asking.seconds) { /* what comes soon is for a client that has said all, too */
		answer->cancel = give_up;
		answer->cancel_arg = wait;
	}
}

void proc_fetch(const struct services *services, const char *name, const struct query *query,
		struct answer *answer, void (*ready)(void *arg), void *arg)
{
	struct proc_waiting found = {.answer = answer, .ready = ready, .arg = arg};

	if (!find_resource(name, &found)) {
		answer_failed(answer, 404, "url not found");
		return;
	}
	const char *wrong = read_choice(query, &found.choice);
	if (wrong) {
		answer_failed(answer, 400, wrong);
		return;
	}
	if (query->every > 0) {
		repeat_measurement(services, query, &found);
		return;
	}
	struct proc_waiting *waiting = malloc(sizeof(*waiting));
	if (!waiting) {
		answer_failed(answer, 503, "no memory");
		return;
	}
	*waiting = found;
	fetch_costs(services, query, waiting);
}

void proc_need(const char *name, const struct query *query, struct need *need)
{
	bool measures = query->seconds != QUERY_NONE || query->every != QUERY_NONE;

	(void)name;
	need->role = measures ? ROLE_PROFILE : ROLE_READ;
	need->costs = measures;
	if ((query->seconds > 0 && query->seconds <= QUERY_SECONDS_MAX) ||
	    (query->every > 0 && query->every <= QUERY_SECONDS_MAX))
		need->begins = WANTED_COSTS;
}
