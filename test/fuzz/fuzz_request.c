// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bodies of PUTs. What is accepted is accepted again and means the same; and its configuration, in
 * the shape that GET shows, can be PUT back.
 */
#include "fuzz.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/resource/flamegraph.h"
#include "session/session_events.h"
#include "session/session_params.h"
#include "api/processes/proc_resource.h"
#include "api/resource/sched_resource.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "kind/kind.h"

/* A root that is there always and in which nothing can be made. */
#define ROOT "/proc/self"

/* The parser may write one byte behind the body and no further. */
static int parse(const struct rules *rules, const void *body, size_t bytes,
		 const struct spec *before, struct spec *spec)
{
	struct upload_options upload = {.allow = {(char[]){"a:1"}}, .allow_count = 1};
	struct bounds bounds = {{(const char *const[]){ROOT}, 1}, &upload, false};
	struct notes notes = {0};
	struct why why = {0};
	_cleanup_free_ char *copy = malloc(bytes + 1);

	demand(copy != NULL);
	if (bytes)
		memcpy(copy, body, bytes);
	int r = request_parse(copy, bytes, rules, before, &bounds, spec, NULL, &notes, &why);
	if (r == 0)
		return 0;
	demand(r == -EINVAL || r == -ENOMEM);
	size_t len = strnlen(why.text, sizeof(why.text));
	demand(len > 0 && len < sizeof(why.text));
	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(why.text + at, len - at);

		demand(n > 0);
		at += n;
	}
	return r;
}

/* The params name events. */
static void add_probes(cJSON *list, const struct params *params, uint32_t probes)
{
	char event[EVENT_WORD_BYTES + 8];

	for (int i = 0; i < PROBE_COUNT; i++) {
		const char *name = i < PROBE_SLOT_FIRST ? kind_get(i)->name : event;

		if (!(probes & 1u << i))
			continue;
		if (i >= PROBE_SLOT_FIRST)
			snprintf(event, sizeof(event), "event:%s",
				 events_at(params, (unsigned)i - PROBE_SLOT_FIRST)->word);
		cJSON_AddItemToArray(list, cJSON_CreateString(name));
	}
}

static void add_snoopers(cJSON *to, const struct params *params, const struct snoopers *snoopers)
{
	const struct id_snooper *ids;
	const struct name_snooper *names;
	size_t ids_count = snoopers_ids(snoopers, &ids), names_count;
	cJSON *list = cJSON_AddArrayToObject(to, "proc_id");

	for (size_t i = 0; i < ids_count; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(ids[i].pid));
	names_count = snoopers_names(snoopers, &names);
	list = cJSON_AddArrayToObject(to, "proc_name");
	for (size_t i = 0; i < names_count; i++) {
		cJSON *entry = cJSON_CreateObject();

		cJSON_AddStringToObject(entry, "comm", names[i].comm);
		cJSON_AddStringToObject(entry, "cmdline", names[i].cmdline);
		cJSON_AddStringToObject(entry, "debugging_dir", names[i].debugging_dir);
		if (names[i].probes_given)
			add_probes(cJSON_AddArrayToObject(entry, "probe"), params, names[i].probes);
		cJSON_AddItemToArray(list, entry);
	}
}

static void add_events(cJSON *to, const struct params *params)
{
	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++) {
		const struct event_settings *event = events_at(params, i);

		if (event->word[0])
			cJSON_AddStringToObject(to, event->word, event->what);
	}
}

static void add_params(cJSON *to, const struct params *params)
{
	for (size_t i = 0; i < flamegraph_params()->count; i++) {
		const struct param *param = &flamegraph_params()->rows[i];

		if (!param_shown(flamegraph_params(), param, params))
			continue;
		if (param->type == PARAM_NUMBER) {
			cJSON_AddNumberToObject(to, param->name,
						(double)*param_number(param, params));
		} else if (param->type == PARAM_EVENTS) {
			add_events(cJSON_AddObjectToObject(to, param->name), params);
		} else if (param->type == PARAM_CHOICE) {
			cJSON_AddStringToObject(to, param->name,
						param->choices[*param_number(param, params)]);
		} else if (param->type != PARAM_FOLDER ||
			   strncmp(param_text(param, params), ROOT, strlen(ROOT)) == 0) {
			cJSON_AddStringToObject(to, param->name, param_text(param, params));
		}
	}
}

static char *print(const struct spec *spec)
{
	cJSON *root = cJSON_CreateObject();

	if (spec->probes)
		add_probes(cJSON_AddArrayToObject(cJSON_AddObjectToObject(root, "cmd"), "probe"),
			   &spec->params, spec->probes);
	add_params(cJSON_AddObjectToObject(root, "params"), &spec->params);
	add_snoopers(cJSON_AddObjectToObject(root, "snoopers"), &spec->params, spec->snoopers);
	cJSON_AddStringToObject(root, "state", spec->running ? "running" : "stopped");
	char *text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	demand(text != NULL);
	return text;
}

/* Processes come and go meanwhile, so of pids only the number is compared. */
static void demand_equal(const struct spec *a, const struct spec *b)
{
	const struct id_snooper *ids;
	const struct name_snooper *names, *others;

	demand(a->probes == b->probes && a->running == b->running);
	demand(params_equal(flamegraph_params(), PARAM_OF_FILES, &a->params, &b->params));
	demand(params_equal(flamegraph_params(), PARAM_OF_UPLOADS, &a->params, &b->params));
	demand(snoopers_ids(a->snoopers, &ids) == snoopers_ids(b->snoopers, &ids));
	size_t count = snoopers_names(a->snoopers, &names);
	demand(snoopers_names(b->snoopers, &others) == count);
	for (size_t i = 0; i < count; i++) {
		demand(strcmp(names[i].comm, others[i].comm) == 0);
		demand(strcmp(names[i].cmdline, others[i].cmdline) == 0);
		demand(strcmp(names[i].debugging_dir, others[i].debugging_dir) == 0);
		demand(names[i].probes == others[i].probes);
	}
}

/* The same body to another feature, whose params lie there. */
static void use_other(const struct rules *rules, size_t at, size_t params_bytes,
		      const uint8_t *data, size_t bytes)
{
	struct spec spec, again;

	if (parse(rules, data, bytes, NULL, &spec) < 0)
		return;
	demand(parse(rules, data, bytes, &spec, &again) == 0);
	demand(spec.probes == again.probes && spec.running == again.running);
	demand(memcmp((char *)&spec.params + at, (char *)&again.params + at, params_bytes) == 0);
	spec_done(&spec);
	spec_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct spec spec, again, back;
	struct match match;

	if (bytes > REQUEST_BODY_MAX)
		return 0;
	use_other(&sched_rules, offsetof(struct params, sched), sizeof(struct sched_params), data,
		  bytes);
	use_other(&proc_rules, offsetof(struct params, proc), sizeof(struct proc_params), data,
		  bytes);
	if (parse(&flamegraph_rules, data, bytes, NULL, &spec) < 0)
		return 0;
	snoopers_match(spec.snoopers, &(struct identity){1, 0, "aaaaaaaaaaaaaab"}, &match);
	demand(parse(&flamegraph_rules, data, bytes, &spec, &again) == 0);
	demand_equal(&spec, &again);
	char *text = print(&spec);
	demand(parse(&flamegraph_rules, text, strlen(text), &spec, &back) == 0);
	demand_equal(&spec, &back);
	cJSON_free(text);
	spec_done(&spec);
	spec_done(&again);
	spec_done(&back);
	return 0;
}
