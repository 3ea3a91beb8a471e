// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/request/container_json.h"
#include "api/status/status_memory.h"
#include "api/status/status_java.h"
#include "api/status/status_python.h"
#include "api/status/status_upload.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "loop/loop.h"
#include "probes/loss_names.h"
#include "probes/kind.h"

#define TEXT_JSON_MAX (1 << 16)

static void add_probe_names(cJSON *array, const struct rules *rules, uint32_t probes)
{
	for (unsigned i = 0; i < rules->probes_count; i++) {
		if (probes & 1u << i)
			cJSON_AddItemToArray(array, cJSON_CreateString(rules->probe_name(i)));
	}
}

static void add_snoopers(cJSON *to, const struct rules *rules, const struct snoopers *snoopers)
{
	const struct id_snooper *ids;
	const struct name_snooper *names;
	size_t ids_count = snoopers_ids(snoopers, &ids);
	size_t names_count = snoopers_names(snoopers, &names);
	cJSON *list = cJSON_AddArrayToObject(to, "proc_id");

	for (size_t i = 0; i < ids_count; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(ids[i].pid));
	list = cJSON_AddArrayToObject(to, "proc_name");
	for (size_t i = 0; i < names_count; i++) {
		cJSON *entry = cJSON_CreateObject();

		cJSON_AddStringToObject(entry, "comm", names[i].comm);
		cJSON_AddStringToObject(entry, "cmdline", names[i].cmdline);
		cJSON_AddStringToObject(entry, "debugging_dir", names[i].debugging_dir);
		if (names[i].probes_given)
			add_probe_names(cJSON_AddArrayToObject(entry, "probe"), rules,
					names[i].probes);
		cJSON_AddItemToArray(list, entry);
	}
	status_container_snoopers(to, snoopers);
}

#define EXACT_MAX (INT64_C(1) << 53) /* every integer up to this is exact in a double */

static void add_number(cJSON *to, const char *name, int64_t number)
{
	char text[32];

	if (number <= EXACT_MAX) {
		cJSON_AddNumberToObject(to, name, (double)number);
		return;
	}
	snprintf(text, sizeof(text), "%lld", (long long)number);
	cJSON_AddRawToObject(to, name, text);
}

static void add_params(cJSON *to, const struct param_table *table, const struct params *params)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct param *param = &table->rows[i];

		if (!param_shown(table, param, params))
			continue;
		if (param->type == PARAM_NUMBER)
			add_number(to, param->name, *param_number(param, params));
		else if (param->type == PARAM_CHOICE)
			cJSON_AddStringToObject(to, param->name,
						param->choices[*param_number(param, params)]);
		else
			cJSON_AddStringToObject(to, param->name, param_text(param, params));
	}
}

static void add_probe(cJSON *to, const struct services *services, enum probe probe,
		      const struct engine_stats *stats)
{
	const struct kind *kind = kind_get(probe);
	const char *why;
	const char *state = session_state(services->flamegraph, probe, &why);
	cJSON *entry = cJSON_AddObjectToObject(to, kind->name);

	cJSON_AddStringToObject(entry, "state", state);
	cJSON_AddStringToObject(entry, "reason", why);
	cJSON_AddNumberToObject(entry, "samples", (double)stats->samples[probe]);
	cJSON_AddNumberToObject(entry, "thinned", stats->thinned[probe]);
	if (probe == PROBE_OFFCPU) {
		cJSON_AddNumberToObject(entry, "waits_over_maxblock",
					(double)stats->waits_over_maxblock);
		cJSON_AddNumberToObject(entry, "unseen_waits", (double)stats->unseen_waits);
	}
	status_memory(entry, services, probe, stats);
	cJSON *causes = cJSON_AddObjectToObject(entry, "lost");
	for (int i = 0; i < LOST_COUNT; i++)
		cJSON_AddNumberToObject(causes, loss_name(i),
					(double)engine_stats_lost(stats, probe, i));
	causes = cJSON_AddObjectToObject(entry, "truncated");
	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++)
		cJSON_AddNumberToObject(causes, truncation_name(i),
					(double)stats->drain.truncated[probe][i]);
}

void status_add_text(cJSON *to, const char *key, const char *text, size_t len)
{
	_cleanup_buf_ struct buf quoted = BUF_INIT(TEXT_JSON_MAX);
	struct json json = {.out = &quoted};

	json_string(&json, NULL, text, len);
	buf_char(&quoted, '\0');
	if (buf_error(&quoted))
		cJSON_AddStringToObject(to, key, "");
	else
		cJSON_AddRawToObject(to, key, quoted.data);
}

struct process_list {
	const struct services *services;
	cJSON *list;
};

static void add_process(void *arg, const struct target *target)
{
	const struct process_list *processes = arg;

	/* A session on demand may have brought processes that aren't the feature's. */
	if (!(target->probes & WANTED_STACKS))
		return;
	cJSON *entry = cJSON_CreateObject();
	cJSON_AddNumberToObject(entry, "pid", target->pid);
	status_add_text(entry, "comm", target->comm, strnlen(target->comm, COMM_BYTES));
	status_runtime(entry, target);
	status_java_vm(entry, processes->services, target);
	status_container(entry, target->container);
	if (target->ns_pid > 0 && target->ns_pid != target->pid)
		cJSON_AddNumberToObject(entry, "container_pid", target->ns_pid);
	cJSON *causes = cJSON_AddObjectToObject(entry, "truncated");
	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++) {
		if (target->truncated[i])
			cJSON_AddNumberToObject(causes, truncation_name(i),
						(double)target->truncated[i]);
	}
	status_allocator(entry, processes->services, target);
	cJSON_AddItemToArray(processes->list, entry);
}

static void add_files(cJSON *to, const struct services *services)
{
	struct session_stats stats;
	cJSON *files = cJSON_AddObjectToObject(to, "files");

	session_stats(services->flamegraph, &stats);
	cJSON_AddNumberToObject(files, "written", (double)stats.files_written);
	cJSON *causes = cJSON_AddObjectToObject(files, "failed");
	for (int i = 0; i < FILES_CAUSES; i++)
		cJSON_AddNumberToObject(causes, files_cause_name(i), (double)stats.files_causes[i]);
	cJSON_AddStringToObject(files, "last_failure", stats.last_failure);
	cJSON_AddNumberToObject(files, "removed", (double)stats.cleaned.removed);
	cJSON_AddNumberToObject(files, "remove_failed", (double)stats.cleaned.failed);
}

static void add_unwind(cJSON *to, const struct tables_stats *stats)
{
	cJSON *unwind = cJSON_AddObjectToObject(to, "unwind");

	cJSON_AddNumberToObject(unwind, "tables", (double)stats->tables);
	cJSON_AddNumberToObject(unwind, "rows", (double)stats->rows);
	cJSON_AddNumberToObject(unwind, "pending", (double)stats->pending);
	cJSON_AddNumberToObject(unwind, "evicted", (double)stats->evicted);
	cJSON_AddNumberToObject(unwind, "refused", (double)stats->refused);
	cJSON_AddNumberToObject(unwind, "failed", (double)stats->failed);
	cJSON_AddNumberToObject(unwind, "bytes", (double)stats->arena.used);
	cJSON_AddNumberToObject(unwind, "bytes_max", (double)stats->arena.bytes_max);
}

/* Returns whether /metrics has the series by process, or why not. */
static const char *process_counters(const struct times_state *state)
{
	if (state->why[0])
		return state->why;
	if (!state->is_on)
		return "off: they come with offcpu and with /sched";
	if (!state->has_delays)
		return "running without process_runq_wait_seconds_total: the kernel doesn't count "
		       "it (CONFIG_SCHED_INFO)";
	return "running";
}

static void add_upload(cJSON *to, const struct services *services)
{
	struct upload_status status;

	session_uploads_status(services->flamegraph, &status);
	status_upload(to, &status, loop_real_ns());
}

static void add_status(cJSON *to, const struct services *services, const struct spec *spec)
{
	struct engine_stats stats;
	cJSON *probes = cJSON_AddObjectToObject(to, "probes");

	engine_stats(services->engine, &stats);
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (spec->probes & 1u << i)
			add_probe(probes, services, i, &stats);
	}
	add_unwind(to, &stats.targets.tables);
	cJSON_AddStringToObject(to, "process_counters", process_counters(&stats.times_state));
	add_files(to, services);
	status_python(to, services, &stats.codes[CODES_PYTHON]);
	status_java(to, services, &stats);
	cJSON *causes = cJSON_AddObjectToObject(to, "symbols_lost");
	for (int i = 0; i < SYMBOL_LOST_COUNT; i++)
		cJSON_AddNumberToObject(causes, symbol_loss_name(i), (double)stats.files.lost[i]);
	cJSON *maps = cJSON_AddObjectToObject(to, "perf_maps_lost");
	for (int i = 0; i < PERFMAP_LOST_COUNT; i++)
		cJSON_AddNumberToObject(maps, perfmap_loss_name(i),
					(double)stats.files.perfmaps_lost[i]);
	cJSON *jobs = cJSON_AddObjectToObject(to, "jobs");
	cJSON_AddNumberToObject(jobs, "given_up", (double)stats.given_up);
	cJSON_AddNumberToObject(jobs, "refused", (double)stats.refused_jobs);
	cJSON_AddNumberToObject(to, "mappings_left_out", (double)stats.targets.mappings_left_out);
	status_containers(to, &stats.containers, stats.targets.searches_failed);
	struct process_list processes = {services, cJSON_AddArrayToObject(to, "processes")};
	engine_targets(services->engine, add_process, &processes);
	add_upload(to, services);
}

cJSON *status_config(const struct rules *rules, const struct spec *spec)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *cmd = cJSON_AddObjectToObject(root, "cmd");

	add_probe_names(cJSON_AddArrayToObject(cmd, "probe"), rules, spec->probes);
	add_params(cJSON_AddObjectToObject(root, "params"), rules->params, &spec->params);
	add_snoopers(cJSON_AddObjectToObject(root, "snoopers"), rules, spec->snoopers);
	cJSON_AddStringToObject(root, "state", spec->running ? "running" : "stopped");
	return root;
}

int status_write(const struct services *services, const struct rules *rules, struct buf *out)
{
	const struct spec *spec = session_spec(services->flamegraph);
	cJSON *root = status_config(rules, spec);

	add_status(cJSON_AddObjectToObject(root, "status"), services, spec);
	char *text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	if (!text)
		return -ENOMEM;
	buf_str(out, text);
	cJSON_free(text);
	return buf_error(out);
}
