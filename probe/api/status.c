// SPDX-License-Identifier: GPL-2.0-only
#include "api/status.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/param.h"
#include "base/utf8.h"
#include "profile/cause.h"
#include "profile/kind.h"

static void add_probe_names(cJSON *array, uint32_t probes)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (probes & 1u << i)
			cJSON_AddItemToArray(array, cJSON_CreateString(kind_get(i)->name));
	}
}

static void add_snoopers(cJSON *to, const struct snoopers *snoopers)
{
	static const char *const empty[] = {"pod_id", "container_id", "container_name"};
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
			add_probe_names(cJSON_AddArrayToObject(entry, "probe"), names[i].probes);
		cJSON_AddItemToArray(list, entry);
	}
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		cJSON_AddArrayToObject(to, empty[i]);
}

static void add_params(cJSON *to, const struct params *params)
{
	const struct param *rows;
	size_t count = params_table(&rows);

	for (size_t i = 0; i < count; i++) {
		const struct param *param = &rows[i];

		if (param->missing || param->alias)
			continue;
		if (param->type != PARAM_NUMBER) {
			cJSON_AddStringToObject(to, param->name, param_text(param, params));
			continue;
		}
		const int64_t *number = param_number(param, params);
		/* Of the two that exclude each other the one that was set. */
		if ((number == &params->frequency_hz && !params->frequency_hz) ||
		    (number == &params->perf_sample_period_ms && params->frequency_hz))
			continue;
		cJSON_AddNumberToObject(to, param->name, (double)*number);
	}
}

static void add_probe(cJSON *to, const struct services *services, enum probe probe,
		      const struct engine_stats *stats)
{
	const struct kind *kind = kind_get(probe);
	const char *why;
	const char *state = session_state(services->flamegraph, probe, &why);
	cJSON *entry = cJSON_AddObjectToObject(to, kind->name);
	char reason[320];

	snprintf(reason, sizeof(reason), "%s%s%s", why, kind->built ? "" : ": ",
		 kind->built ? "" : kind->name);
	cJSON_AddStringToObject(entry, "state", state);
	cJSON_AddStringToObject(entry, "reason", reason);
	if (!kind->built)
		return;
	cJSON_AddNumberToObject(entry, "samples", (double)stats->samples[probe]);
	cJSON_AddNumberToObject(entry, "thinned", stats->thinned[probe]);
	cJSON *causes = cJSON_AddObjectToObject(entry, "lost");
	for (int i = 0; i < LOST_COUNT; i++)
		cJSON_AddNumberToObject(causes, loss_name(i), (double)stats->lost[i]);
	causes = cJSON_AddObjectToObject(entry, "truncated");
	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++)
		cJSON_AddNumberToObject(causes, truncation_name(i),
					(double)stats->drain.truncated[i]);
}

/* A process's name may hold any bytes; JSON is UTF-8. */
static void add_name(cJSON *to, const char *key, const char *name)
{
	char clean[COMM_BYTES * sizeof(UTF8_REPLACEMENT)];
	size_t len = strnlen(name, COMM_BYTES), used = 0;

	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(name + at, len - at);

		if (n) {
			memcpy(clean + used, name + at, n);
			used += n;
		} else {
			memcpy(clean + used, UTF8_REPLACEMENT, sizeof(UTF8_REPLACEMENT) - 1);
			used += sizeof(UTF8_REPLACEMENT) - 1;
		}
		at += n ? n : 1;
	}
	clean[used] = '\0';
	cJSON_AddStringToObject(to, key, clean);
}

static void add_process(void *arg, const struct target *target)
{
	cJSON *entry = cJSON_CreateObject();

	/* Processes that a session on demand brought along aren't the feature's. */
	if (!target->probes) {
		cJSON_Delete(entry);
		return;
	}
	cJSON_AddNumberToObject(entry, "pid", target->pid);
	add_name(entry, "comm", target->comm);
	cJSON_AddStringToObject(entry, "runtime", "native");
	cJSON_AddStringToObject(entry, "container", "");
	cJSON *causes = cJSON_AddObjectToObject(entry, "truncated");
	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++) {
		if (target->truncated[i])
			cJSON_AddNumberToObject(causes, truncation_name(i),
						(double)target->truncated[i]);
	}
	cJSON_AddItemToArray(arg, entry);
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
	add_files(to, services);
	cJSON *causes = cJSON_AddObjectToObject(to, "symbols_lost");
	for (int i = 0; i < SYMBOL_LOST_COUNT; i++)
		cJSON_AddNumberToObject(causes, symbol_loss_name(i), (double)stats.files.lost[i]);
	engine_targets(services->engine, add_process, cJSON_AddArrayToObject(to, "processes"));
	cJSON_AddStringToObject(to, "upload",
				spec->params.pyroscope_server[0]
					? "upload not available in this version"
					: "off: pyroscope_server is empty");
}

cJSON *status_config(const struct spec *spec)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *cmd = cJSON_AddObjectToObject(root, "cmd");

	add_probe_names(cJSON_AddArrayToObject(cmd, "probe"), spec->probes);
	add_params(cJSON_AddObjectToObject(root, "params"), &spec->params);
	add_snoopers(cJSON_AddObjectToObject(root, "snoopers"), spec->snoopers);
	cJSON_AddStringToObject(root, "state", spec->running ? "running" : "stopped");
	return root;
}

int status_write(const struct services *services, struct buf *out)
{
	const struct spec *spec = session_spec(services->flamegraph);
	cJSON *root = status_config(spec);

	add_status(cJSON_AddObjectToObject(root, "status"), services, spec);
	char *text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	if (!text)
		return -ENOMEM;
	buf_str(out, text);
	cJSON_free(text);
	return buf_error(out);
}
