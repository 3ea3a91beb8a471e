// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status.h"

#include <stdlib.h>
#include <string.h>

#include "api/request/container_json.h"
#include "api/status/status_memory.h"
#include "api/status/status_runtime.h"
#include "base/cleanup.h"
#include "kind/loss_names.h"
#include "kind/kind.h"
#include "session/session_params.h"

static void add_probe_names(struct json *json, const struct rules *rules, uint32_t probes)
{
	json_array(json, "probe");
	for (unsigned i = 0; i < rules->probes_count; i++) {
		if (probes & 1u << i)
			json_text(json, NULL, rules->probe_name(i));
	}
	json_array_end(json);
}

static void add_snoopers(struct json *json, const struct rules *rules,
			 const struct snoopers *snoopers)
{
	const struct id_snooper *ids;
	const struct name_snooper *names;
	size_t ids_count = snoopers_ids(snoopers, &ids);
	size_t names_count = snoopers_names(snoopers, &names);

	json_array(json, "proc_id");
	for (size_t i = 0; i < ids_count; i++)
		json_u64(json, NULL, ids[i].pid);
	json_array_end(json);
	json_array(json, "proc_name");
	for (size_t i = 0; i < names_count; i++) {
		json_object(json, NULL);
		json_text(json, "comm", names[i].comm);
		json_text(json, "cmdline", names[i].cmdline);
		json_text(json, "debugging_dir", names[i].debugging_dir);
		if (names[i].probes_given)
			add_probe_names(json, rules, names[i].probes);
		json_object_end(json);
	}
	json_array_end(json);
	status_container_snoopers(json, snoopers);
}

#define EXACT_MAX (INT64_C(1) << 53) /* every integer up to this is exact in a double */

/* Adds the events that params name. */
static void add_events(struct json *json, const struct rules *rules, const struct param *param,
		       const struct params *params)
{
	json_object(json, param->name);
	for (unsigned i = 0; rules->events && i < rules->events->slots; i++) {
		const struct event_settings *event = rules->events->at(params, i);

		if (event->word[0])
			json_text(json, event->word, event->what);
	}
	json_object_end(json);
}

static void add_params(struct json *json, const struct rules *rules, const struct params *params)
{
	const struct param_table *table = rules->params();

	for (size_t i = 0; i < table->count; i++) {
		const struct param *param = &table->rows[i];
		const int64_t *number = param_number(param, params);

		if (!param_shown(table, param, params))
			continue;
		if (param->type == PARAM_NUMBER && *number <= EXACT_MAX)
			json_double(json, param->name, (double)*number);
		else if (param->type == PARAM_NUMBER)
			json_u64(json, param->name, (uint64_t)*number);
		else if (param->type == PARAM_EVENTS)
			add_events(json, rules, param, params);
		else if (param->type == PARAM_CHOICE)
			json_text(json, param->name, param->choices[*number]);
		else
			json_text(json, param->name, param_text(param, params));
	}
}

static void add_probe(struct json *json, const struct figures *figures, enum probe probe)
{
	const struct probe_figures *one = &figures->probes[probe];
	const char *why;
	const char *state = session_state(figures->services->flamegraph, probe, &why);

	json_object(json, kind_get(probe)->name);
	json_text(json, "state", state);
	json_text(json, "reason", why);
	measures_json(json, &probe_measures, one);
	if (kind_get(probe)->measures)
		measures_json(json, kind_get(probe)->measures, &figures->engine.own[probe]);
	status_memory(json, figures, probe);
	measures_json(json, &probe_loss_measures, one);
	json_object_end(json);
}

struct status_process_list {
	const struct services *services;
	struct json *json;
};

static void add_cuts(struct json *json, const uint64_t truncated[TRUNCATED_COUNT],
		     uint64_t from_code)
{
	json_object(json, "truncated");
	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++) {
		if (truncated[i])
			json_u64(json, truncation_name(i), truncated[i]);
	}
	json_object_end(json);
	if (from_code)
		json_u64(json, "from_code", from_code);
}

static void add_ended(struct json *json, const struct engine *engine)
{
	_cleanup_free_ struct ended_cuts_part *ended = malloc(sizeof(*ended));

	json_array(json, "ended");
	if (ended)
		engine_ended_cuts(engine, ended);
	for (size_t i = 0; ended && i < ended->count; i++) {
		const struct ended_cut *cut = &ended->each[i];

		json_object(json, NULL);
		json_string(json, "comm", cut->comm, strnlen(cut->comm, COMM_BYTES));
		json_u64(json, "processes", cut->processes);
		add_cuts(json, cut->truncated, cut->from_code);
		json_object_end(json);
	}
	json_array_end(json);
}

static void add_process(void *arg, const struct target *target)
{
	const struct status_process_list *processes = arg;
	struct json *json = processes->json;

	/* A session on demand may have brought processes that aren't the feature's. */
	if (!(target->match.probes & WANTED_STACKS))
		return;
	json_object(json, NULL);
	json_u64(json, "pid", target->pid);
	json_string(json, "comm", target->comm, strnlen(target->comm, COMM_BYTES));
	status_runtime(json, target);
	status_map_flag(json, processes->services, target);
	status_made_code(json, target);
	status_made_dump(json, target);
	status_java_vm(json, processes->services, target);
	status_container(json, target->container);
	if (target->ns_pid > 0 && target->ns_pid != target->pid)
		json_u64(json, "container_pid", target->ns_pid);
	add_cuts(json, target->truncated, target->from_code);
	status_allocator(json, processes->services, target);
	json_object_end(json);
}

static void add_files(struct json *json, const struct session_stats *stats)
{
	json_object(json, "files");
	measures_json(json, &session_measures, stats);
	json_text(json, "last_failure", stats->last_failure);
	measures_json(json, &cleaner_measures, &stats->cleaned);
	json_object_end(json);
}

static void add_history(struct json *json, const struct history_stats *stats)
{
	json_object(json, "history");
	json_text(json, "state", stats->is_on ? "running" : "stopped");
	measures_json(json, &history_measures, stats);
	json_text(json, "last_failure", stats->failure);
	json_object_end(json);
}

static void add_trigger(struct json *json, const struct figures *figures, const struct spec *spec)
{
	struct trigger_status status;

	session_trigger(figures->services->flamegraph, &status);
	json_object(json, "trigger");
	json_text(json, "state", status.state);
	json_text(json, "text", spec->params.trigger);
	json_text(json, "waits_for", status.waits_for);
	json_text(json, "how", status.how);
	json_text(json, "reason", status.reason);
	measures_json(json, &trigger_measures, &figures->files.trigger);
	json_object_end(json);
}

/* Says whether /metrics has the series by process, or why not. */
static void process_counters(const struct times_state *state, struct why *says)
{
	const struct kind *with = kind_get((enum probe)__builtin_ctz(kinds_at_switch()));

	if (state->why[0])
		why_set(says, "%s", state->why);
	else if (!state->is_on)
		why_set(says, "off: they come with %s and with /sched", with->name);
	else if (!state->has_delays)
		why_set(says, "running without process_runq_wait_seconds_total: the kernel doesn't "
			      "count it (CONFIG_SCHED_INFO)");
	else
		why_set(says, "running");
}

void status_upload(struct json *json, const struct upload_status *status)
{
	static const char *const states[] = {
		[UPLOAD_OFF] = "off",
		[UPLOAD_RUNNING] = "running",
		[UPLOAD_FAILING] = "failing",
	};

	json_object(json, "upload");
	json_text(json, "state", states[status->state]);
	json_text(json, "reason", status->reason);
	json_text(json, "server", status->server);
	json_text(json, "api", pyroscope_api_name(status->api));
	measures_json(json, &sender_measures, &status->sent);
	/* TLS's words may have some of a certificate's. */
	json_name(json, "last_failure", status->sent.last_failure);
	json_object_end(json);
}

static void add_containers(struct json *json, const struct engine_stats *stats)
{
	json_object(json, "containers");
	measures_json(json, &container_measures, &stats->containers);
	measures_json(json, &target_container_measures, &stats->targets);
	json_object_end(json);
}

void status_flamegraph(struct json *json, const struct services *services, const struct spec *spec)
{
	struct status_process_list processes = {services, json};
	const struct engine_stats *stats;
	struct figures figures;
	struct why counters;

	figures_read(&figures, services);
	stats = &figures.engine;
	json_object(json, "probes");
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (spec->probes & 1u << i)
			add_probe(json, &figures, i);
	}
	json_object_end(json);
	measures_json_object(json, &unwind_measures, &stats->targets.tables);
	process_counters(&stats->times_state, &counters);
	json_text(json, "process_counters", counters.text);
	add_files(json, &figures.files);
	add_history(json, &figures.history);
	add_trigger(json, &figures, spec);
	status_runtimes(json, &figures);
	measures_json(json, &symbol_measures, &stats->files);
	measures_json_object(json, &job_measures, stats);
	measures_json_object(json, &loop_measures, &stats->loop);
	measures_json(json, &target_measures, &stats->targets);
	add_containers(json, stats);
	json_array(json, "processes");
	engine_targets(services->engine, add_process, &processes);
	json_array_end(json);
	add_ended(json, services->engine);
	status_upload(json, &figures.upload);
}

void status_config(struct json *json, const struct rules *rules, const struct spec *spec)
{
	json_object(json, "cmd");
	add_probe_names(json, rules, spec->probes);
	json_object_end(json);
	json_object(json, "params");
	add_params(json, rules, &spec->params);
	json_object_end(json);
	json_object(json, "snoopers");
	add_snoopers(json, rules, spec->snoopers);
	json_object_end(json);
	json_text(json, "state", spec->running ? "running" : "stopped");
}

void status_answer(struct answer *answer, const struct services *services,
		   const struct rules *rules, const struct spec *spec,
		   void (*add)(struct json *json, const struct services *services,
			       const struct spec *spec))
{
	struct json json = {.out = &answer->body};

	answer->status = 200;
	answer->content_type = "application/json";
	json_object(&json, NULL);
	if (spec) {
		status_config(&json, rules, spec);
		json_object(&json, "status");
		add(&json, services, spec);
		json_object_end(&json);
	}
	json_object_end(&json);
	buf_char(&answer->body, '\n');
}
