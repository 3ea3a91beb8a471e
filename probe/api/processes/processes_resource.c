// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/processes/processes_resource.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/processes/process_list.h"
#include "api/status/container_texts.h"
#include "api/status/status_runtime.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "kind/kind.h"
#include "mappings/spans.h"

#define LIMIT_DEFAULT 200
#define LIMIT_MAX     2000

struct processes {
	struct process_lister lister;
	struct engine *engine;
	struct processes_request *requests; /* that wait for a reading */
	/* containers of the last answer, so that their names are known for the next one */
	struct known_cgroup **groups;
	size_t groups_count;
};

struct processes_request {
	struct processes *processes;
	struct answer *answer;
	void (*ready)(void *arg);
	void *arg;
	struct processes_request *next;
};

/* What is common to all rows. */
struct process_rows {
	const struct processes *processes;
	struct json *json;
	struct known_cgroup **groups; /* of these rows */
	size_t groups_count;
	double ticks_per_s;
	uint64_t page_bytes;
};

/* ---- JSON ---- */

static void put_command(struct json *json, const struct process_detail *detail)
{
	char text[PROCESS_COMMAND_BYTES + sizeof(UTF8_ELLIPSIS)];

	if (!detail->has_command) {
		json_raw(json, "command", "null");
		return;
	}
	snprintf(text, sizeof(text), "%s%s", detail->command, detail->is_cut ? UTF8_ELLIPSIS : "");
	json_name(json, "command", text);
}

static void put_container(struct process_rows *rows, const struct process_detail *detail)
{
	struct containers *containers = engine_containers(rows->processes->engine);

	if (!detail->place.id[0])
		return;
	struct known_cgroup *group = containers_place(containers, &detail->place, "");
	if (!group)
		return;
	containers_ask(containers, group);
	container_json(rows->json, group_container(group), 0, 0);
	rows->groups[rows->groups_count++] = group;
}

/* Returns whether its mappings are known, and their unwind tables are there. */
static bool has_tables(const struct target *target)
{
	return target->spans && !target->spans->pending && !target->arming_ns;
}

/* Says what of it is sampled, and whether its stacks can be walked. */
static void put_sampled(struct json *json, const struct target *target)
{
	uint32_t probes = target ? target->probes_said & WANTED_STACKS : 0;

	if (target && address_space_read_ns(target->space))
		status_runtime(json, target);
	else
		json_raw(json, "runtime", "null");
	json_array(json, "probes");
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (probes & 1u << i)
			json_text(json, NULL, kind_get((enum probe)i)->name);
	}
	json_array_end(json);
	if (!probes)
		json_raw(json, "covered", "null");
	else
		json_raw(json, "covered", has_tables(target) ? "true" : "false");
}

static void put_process(struct process_rows *rows, const struct listed_process *process)
{
	const struct proc_stat *stat = &process->stat;
	const struct process_detail *detail = process->detail;
	struct json *json = rows->json;
	const char state[] = {stat->state, '\0'};

	json_object(json, NULL);
	json_u64(json, "pid", (uint64_t)process->pid);
	json_seconds(json, "start", proc_epoch_ms_of_ticks(stat->start_ticks) * NS_PER_MS);
	json_name(json, "comm", stat->comm);
	put_command(json, detail);
	if (detail->user[0])
		json_name(json, "user", detail->user);
	else
		json_raw(json, "user", "null");
	put_container(rows, detail);
	json_u64(json, "threads", stat->threads);
	json_double(json, "cpu_s", (double)stat->cpu_ticks / rows->ticks_per_s);
	if (process->has_wait)
		json_double(json, "wait_s", (double)process->wait_ns / (double)NS_PER_S);
	else
		json_raw(json, "wait_s", "null");
	json_u64(json, "rss", stat->rss_pages * rows->page_bytes);
	json_name(json, "state", state);
	put_sampled(json,
		    engine_target_now(rows->processes->engine, process->pid, stat->start_ticks));
	json_object_end(json);
}

static void put_others(const struct process_rows *rows, const struct process_sums *others)
{
	struct json *json = rows->json;

	json_object(json, "others");
	json_u64(json, "processes", others->processes);
	json_u64(json, "threads", others->threads);
	json_double(json, "cpu_s", (double)others->cpu_ticks / rows->ticks_per_s);
	json_u64(json, "rss", others->rss_pages * rows->page_bytes);
	json_object_end(json);
}

static void put_list(struct process_rows *rows, const struct process_listing *list)
{
	struct json *json = rows->json;

	json_object(json, NULL);
	json_seconds(json, "at", list->time_ns);
	json_u64(json, "cpus", list->cpus);
	json_array(json, "processes");
	for (size_t i = 0; i < list->count; i++) {
		if (!list->all[i].detail)
			continue; /* it has ended meanwhile */
		json_line(json);
		put_process(rows, &list->all[i]);
	}
	json_array_end(json);
	if (list->others.processes)
		put_others(rows, &list->others);
	if (list->left_out)
		json_u64(json, "left_out", list->left_out);
	json_object_end(json);
	buf_char(json->out, '\n');
}

/* ---- answers ---- */

/* Takes over `groups`. */
static void keep_groups(struct processes *processes, struct known_cgroup **groups, size_t count)
{
	for (size_t i = 0; i < processes->groups_count; i++)
		group_unref(processes->groups[i]);
	free(processes->groups);
	processes->groups = groups;
	processes->groups_count = count;
}

static void answer_list(struct processes *processes, const struct process_listing *list,
			struct answer *answer)
{
	struct json json = {.out = &answer->body};
	struct process_rows rows = {
		.processes = processes,
		.json = &json,
		.groups = calloc(list->count + 1, sizeof(struct known_cgroup *)),
		.ticks_per_s = (double)sysconf(_SC_CLK_TCK),
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
	};

	if (!rows.groups) {
		answer_failed(answer, 503, "no memory");
		return;
	}
	answer->status = 200;
	answer->content_type = "application/json";
	put_list(&rows, list);
	keep_groups(processes, rows.groups, rows.groups_count);
}

static void unlink_request(struct processes_request *request)
{
	struct processes_request **at = &request->processes->requests;

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
}

static void list_read(void *arg, const struct process_listing *list, int error)
{
	struct processes_request *request = arg;
	char message[128];

	snprintf(message, sizeof(message), "the processes can't be read: %s",
		 error == -ETIMEDOUT ? "it takes too long" : strerror(-error));
	if (list)
		answer_list(request->processes, list, request->answer);
	else
		answer_failed(request->answer, 503, message);
	unlink_request(request);
	request->ready(request->arg);
	free(request);
}

/* Reads what is asked for. Returns what is wrong, a sentence; NULL: nothing. */
static const char *read_question(const struct query *query, struct process_question *question)
{
	static const char *const orders[] = {
		[PROCESSES_BY_CPU] = "cpu",
		[PROCESSES_BY_WAIT] = "wait",
		[PROCESSES_BY_RSS] = "rss",
		[PROCESSES_BY_PID] = "pid",
	};
	const char *sort = query->sort ? query->sort : orders[PROCESSES_BY_CPU];
	size_t order = 0;

	while (order < ARRAY_SIZE(orders) && strcmp(sort, orders[order]) != 0)
		order++;
	if (order == ARRAY_SIZE(orders))
		return "sort must be one of cpu, wait, rss, pid";
	question->order = (enum process_order)order;
	question->limit = LIMIT_DEFAULT;
	if (query->limit == QUERY_NONE)
		return NULL;
	if (!query_is_number(query->limit, LIMIT_MAX))
		return "limit must be a number from 1 to 2000";
	question->limit = (size_t)query->limit;
	return NULL;
}

void processes_get(const struct services *services, const struct query *query,
		   struct answer *answer, void (*ready)(void *arg), void *arg)
{
	struct processes *processes = services->processes;
	struct process_question question = {.done = list_read};
	const char *wrong = read_question(query, &question);

	if (wrong) {
		answer_failed(answer, 400, wrong);
		return;
	}
	struct processes_request *request = malloc(sizeof(*request));
	question.arg = request;
	if (!request || process_list_read(&processes->lister, &question) < 0) {
		free(request);
		answer_failed(answer, 503, "no memory");
		return;
	}
	*request = (struct processes_request){processes, answer, ready, arg, processes->requests};
	processes->requests = request;
}

int processes_new(struct processes **ret, struct engine *engine, struct worker *worker)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	processes->engine = engine;
	processes->lister.worker = worker;
	*ret = processes;
	return 0;
}

void processes_free(struct processes *processes)
{
	if (!processes)
		return;
	keep_groups(processes, NULL, 0);
	for (struct processes_request *request; (request = processes->requests);) {
		processes->requests = request->next;
		free(request);
	}
	free(processes);
}
