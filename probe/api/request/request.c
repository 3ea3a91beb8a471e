// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/request/request_state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* Replaces bytes that aren't UTF-8: a quoted text may have been cut within a character. */
static void keep_utf8(char *text)
{
	size_t len = strlen(text);

	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(text + at, len - at);

		if (!n)
			text[at] = '?';
		at += n ? n : 1;
	}
}

int request_refuse(const struct request *request, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(request->why->text, sizeof(request->why->text), format, args);
	va_end(args);
	keep_utf8(request->why->text);
	return -EINVAL;
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

/* ---- cmd ---- */

int request_take_probes(const struct request *request, const cJSON *list, uint32_t *probes)
{
	const cJSON *name;

	*probes = 0;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0)
		return request_refuse(request, "invalid probe ranges: at least one must be set");
	cJSON_ArrayForEach (name, list) {
		if (!cJSON_IsString(name))
			return request_refuse(request, "Invalid probe range: must be string.");
		int probe = request->rules->probe_find(name->valuestring);
		if (probe < 0)
			return request_refuse(request, "unsupported probe range: %.200s.",
					      name->valuestring);
		*probes |= 1u << probe;
	}
	return 0;
}

static int take_cmd(struct request *request, const cJSON *cmd)
{
	const cJSON *list = request_member(cmd, "probe");

	if (!cJSON_IsObject(cmd) || !list)
		return request_refuse(request, "Bad request");
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
	const cJSON *cmd = request_member(root, "cmd"),
		    *snoopers = request_member(root, "snoopers");
	const cJSON *params = request_member(root, "params"),
		    *state = request_member(root, "state");
	int r = 0;

	if (request_member(root, "blacklist"))
		return request_refuse(request, "blacklist is not supported: use snoopers");
	if (!cmd && !snoopers && !params && !state)
		return request_refuse(request, "Bad request");
	if (cmd)
		r = take_cmd(request, cmd);
	if (r == 0 && snoopers)
		r = request_take_snoopers(request, snoopers);
	if (r == 0 && !request->rules->everybody && snoopers_empty(request->spec->snoopers))
		return request_refuse(request, "the snooper for %s cannot be empty",
				      request->rules->feature);
	if (r == 0 && params)
		r = request_take_params(request, params);
	if (r == 0 && state)
		r = take_state(request, state);
	if (r == 0 && request->spec->running && !request->spec->probes)
		return request_refuse(request, "invalid probe ranges: at least one must be set");
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
		  struct why *why)
{
	_cleanup_(spec_done) struct spec fresh = {0};
	struct request request = {.rules = rules, .bounds = bounds, .why = why, .spec = &fresh};
	struct params defaults;
	char *text = request_find_json(data, bytes);

	if (!text)
		return request_refuse(&request, "invalid json format");
	cJSON_Minify(text); /* removes comments, which gala-gopher's parser allows */
	_cleanup_(free_json) cJSON *root = cJSON_Parse(text);
	if (!cJSON_IsObject(root))
		return request_refuse(&request, root ? "Bad request" : "invalid json format");
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
