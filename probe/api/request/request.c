// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/request/request_state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "output/text/near_word.h"

int request_refuse(const struct request *request, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(request->why->text, sizeof(request->why->text), format, args);
	va_end(args);
	utf8_repair(request->why->text);
	return -EINVAL;
}

void request_repair(const struct request *request)
{
	utf8_repair(request->why->text);
}

int request_no_memory(const struct request *request)
{
	request_refuse(request, "no memory");
	return -ENOMEM;
}

const cJSON *request_member(const cJSON *object, const char *name)
{
	const cJSON *child, *found = NULL;

	if (!cJSON_IsObject(object))
		return NULL;
	cJSON_ArrayForEach (child, object) {
		if (strcmp(child->string, name) == 0)
			found = child;
	}
	return found;
}

void request_check_keys(const struct request *request, const char *where, const cJSON *object,
			const struct known_keys *known)
{
	const cJSON *child;

	if (!cJSON_IsObject(object))
		return;
	cJSON_ArrayForEach (child, object) {
		bool is_known = false;

		for (size_t i = 0; !is_known && i < known->count; i++)
			is_known = strcmp(child->string, known->keys[i]) == 0;
		for (size_t i = 0; !is_known && i < known->silent_count; i++)
			is_known = strcmp(child->string, known->silent[i]) == 0;
		if (!is_known)
			notes_unknown(request->notes, where, child->string, known->keys,
				      known->count);
	}
}

/* ---- cmd ---- */

/* Explains which probes a feature has, and where one that it hasn't is. */
static void explain_probes(const struct request *request, const char *wrong)
{
	const char *names[32];
	char all[256] = "";
	size_t len = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < request->rules->probes_count && count < ARRAY_SIZE(names); i++) {
		names[count] = request->rules->probe_name(i);
		if (names[count] && len < sizeof(all))
			len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
						count ? ", " : "", names[count]);
		count += names[count] != NULL;
	}
	if (request->rules->events && len < sizeof(all))
		snprintf(all + len, sizeof(all) - len, ", and event:NAME of params.events");
	const char *meant = wrong ? near_word(wrong, names, count) : NULL;
	notes_explain(request->notes,
		      "cmd.probe is an array with at least one of the probes of /%s: %s%s%s%s%s",
		      request->rules->feature, all, meant ? ". Is it " : "", meant ? meant : "",
		      meant ? "?" : "",
		      wrong && request->rules->elsewhere && request->rules->elsewhere(wrong)
			      ? request->rules->elsewhere(wrong)
			      : "");
}

int request_take_probes(const struct request *request, const cJSON *list, uint32_t *probes)
{
	const cJSON *name;

	*probes = 0;
	explain_probes(request, NULL);
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0)
		return request_refuse(request, "invalid probe ranges: at least one must be set");
	cJSON_ArrayForEach (name, list) {
		if (!cJSON_IsString(name))
			return request_refuse(request, "Invalid probe range: must be string.");
		int probe = request->rules->probe_find(&request->spec->params, name->valuestring);
		if (probe < 0) {
			explain_probes(request, name->valuestring);
			return request_refuse(request, "unsupported probe range: %.200s.",
					      name->valuestring);
		}
		*probes |= 1u << probe;
	}
	notes_explain(request->notes, "%s", "");
	return 0;
}

static int take_cmd(struct request *request, const cJSON *cmd)
{
	static const char *const keys[] = {"probe"};
	static const char *const silent[] = {"bin", "check_cmd"};
	static const struct known_keys known = {
		.keys = keys,
		.count = ARRAY_SIZE(keys),
		.silent = silent, /* gala-gopher's */
		.silent_count = ARRAY_SIZE(silent),
	};
	const cJSON *list = request_member(cmd, "probe");

	request_check_keys(request, "cmd", cmd, &known);
	if (!cJSON_IsObject(cmd) || !list) {
		explain_probes(request, NULL);
		return request_refuse(request, "Bad request");
	}
	return request_take_probes(request, list, &request->spec->probes);
}

/* ---- the whole ---- */

static int take_state(struct request *request, const cJSON *state)
{
	if (!cJSON_IsString(state))
		return request_refuse(request, "invalid state: must be string");
	if (strcasecmp(state->valuestring, "running") == 0)
		request->spec->running = true;
	else if (strcasecmp(state->valuestring, "stopped") == 0)
		request->spec->running = false;
	else
		return request_refuse(request, "invalid state %.200s: must be running or stopped",
				      state->valuestring);
	return 0;
}

static int take_all(struct request *request, const cJSON *root)
{
	static const char *const keys[] = {"cmd", "snoopers", "params", "state"};
	static const char *const silent[] = {"status"};
	static const struct known_keys known = {
		.keys = keys,
		.count = ARRAY_SIZE(keys),
		.silent = silent, /* GET's answer can be PUT back */
		.silent_count = ARRAY_SIZE(silent),
	};
	const cJSON *cmd = request_member(root, "cmd"),
		    *snoopers = request_member(root, "snoopers");
	const cJSON *params = request_member(root, "params"),
		    *state = request_member(root, "state");
	int r = 0;

	request_check_keys(request, "the body", root, &known);
	if (request_member(root, "blacklist"))
		return request_refuse(request, "blacklist is not supported: use snoopers");
	if (!cmd && !snoopers && !params && !state) {
		notes_explain(
			request->notes, "the body has none of cmd, snoopers, params, state%s%s",
			request->notes && request->notes->count ? ": " : "",
			request->notes && request->notes->count ? request->notes->warnings[0] : "");
		return request_refuse(request, "Bad request");
	}
	if (params)
		r = request_take_events(request, params);
	if (r == 0 && cmd)
		r = take_cmd(request, cmd);
	if (r == 0 && snoopers)
		r = request_take_snoopers(request, snoopers);
	if (r == 0 && !request->rules->everybody && snoopers_empty(request->spec->snoopers)) {
		notes_explain(request->notes,
			      "snoopers say which processes are profiled: proc_id, proc_name, "
			      "pod_id, container_id, container_name, cgroup, pod, image. All "
			      "processes: {\"proc_name\": [{\"comm\": \".\"}]}");
		return request_refuse(request, "the snooper for %s cannot be empty",
				      request->rules->feature);
	}
	if (r == 0 && params)
		r = request_take_params(request, params);
	if (r == 0 && state)
		r = take_state(request, state);
	if (r == 0)
		r = request_settle_events(request);
	if (r == 0 && request->spec->running && !request->spec->probes) {
		explain_probes(request, NULL);
		return request_refuse(request, "invalid probe ranges: at least one must be set");
	}
	const char *refused = r == 0 && request->rules->refuse
				      ? request->rules->refuse(&request->spec->params)
				      : NULL;
	if (refused)
		return request_refuse(request, "%s", refused);
	return r < 0 ? r : request_check_folders(request);
}

static void free_json(cJSON **json)
{
	cJSON_Delete(*json);
}

int request_parse(char *data, size_t bytes, const struct rules *rules, const struct spec *before,
		  const struct bounds *bounds, struct spec *spec, struct request_folders *folders,
		  struct notes *notes, struct why *why)
{
	_cleanup_(spec_done) struct spec fresh = {0};
	struct request request = {.rules = rules,
				  .bounds = bounds,
				  .why = why,
				  .notes = notes,
				  .spec = &fresh,
				  .before = before ? &before->params : NULL};
	struct params defaults;
	char *text = request_find_json(data, bytes);

	notes_explain(notes, "the body is neither JSON nor json=JSON, plain or URL-encoded");
	if (!text)
		return request_refuse(&request, "invalid json format");
	cJSON_Minify(text); /* removes comments, which gala-gopher's parser allows */
	const char *end = NULL;
	_cleanup_(free_json) cJSON *root = cJSON_ParseWithOpts(text, &end, false);
	if (!root && end)
		notes_explain(notes, "the JSON is wrong at: %.60s", *end ? end : "its end");
	else
		notes_explain(notes, "the body must be a JSON object");
	if (!cJSON_IsObject(root))
		return request_refuse(&request, root ? "Bad request" : "invalid json format");
	notes_explain(notes, "%s", "");
	params_default(rules->params(), &defaults);
	if (before)
		spec_copy(&fresh, before);
	else if (spec_init(&fresh, &defaults) < 0)
		return request_no_memory(&request);
	int r = take_all(&request, root);
	if (r < 0)
		return r;
	if (folders)
		*folders = request.folders;
	*spec = fresh;
	fresh.snoopers = NULL;
	return 0;
}
