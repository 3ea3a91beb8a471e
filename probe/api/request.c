// SPDX-License-Identifier: GPL-2.0-only
#include "api/request.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define PIDS_MAX    16384
#define NAMES_MAX   100
#define PID_MAX	    4194304 /* include/linux/threads.h: PID_MAX_LIMIT */
#define CMDLINE_MAX 4096

struct request {
	const struct rules *rules;
	const struct store_roots *roots;
	char *message;
	struct spec *spec;
	const struct param *folders[4]; /* of this body: made when all else holds */
	size_t folders_count;
};

static int refuse(const struct request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What was quoted may have been cut in the middle of a character. */
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

static int refuse(const struct request *request, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(request->message, REQUEST_MESSAGE_MAX, format, args);
	va_end(args);
	keep_utf8(request->message);
	return -EINVAL;
}

static int refuse_later(const struct request *request, const char *what)
{
	return refuse(request, "not available in this version: %s", what);
}

static int no_memory(const struct request *request)
{
	refuse(request, "no memory");
	return -ENOMEM;
}

/* Of keys that come twice the last one counts, as it always did. */
static const cJSON *member(const cJSON *object, const char *name)
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

static int take_probes(struct request *request, const cJSON *list, uint32_t *probes)
{
	const cJSON *name;

	*probes = 0;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0)
		return refuse(request, "invalid probe ranges: at least one must be set");
	cJSON_ArrayForEach (name, list) {
		if (!cJSON_IsString(name))
			return refuse(request, "Invalid probe range: must be string.");
		int probe = request->rules->probe_find(name->valuestring);
		if (probe < 0)
			return refuse(request, "unsupported probe range: %.200s.",
				      name->valuestring);
		*probes |= 1u << probe;
	}
	return 0;
}

static int take_cmd(struct request *request, const cJSON *cmd)
{
	const cJSON *list = member(cmd, "probe");

	if (!cJSON_IsObject(cmd) || !list)
		return refuse(request, "Bad request");
	return take_probes(request, list, &request->spec->probes);
}

/* ---- snoopers ---- */

static int bad_snooper(const struct request *request, const char *key, const char *why)
{
	return refuse(request, "Error occurs when parsing snooper %s%s%s", key, why[0] ? ": " : "",
		      why);
}

static int take_ids(struct request *request, const cJSON *list)
{
	const cJSON *id;

	if (!cJSON_IsArray(list))
		return bad_snooper(request, "proc_id", "must be an array");
	if (cJSON_GetArraySize(list) > PIDS_MAX)
		return bad_snooper(request, "proc_id", "more than 16384 processes");
	cJSON_ArrayForEach (id, list) {
		if (!cJSON_IsNumber(id))
			return bad_snooper(request, "proc_id", "");
		double pid = id->valuedouble;
		if (!(pid >= 1 && pid <= PID_MAX) || pid != floor(pid))
			return bad_snooper(request, "proc_id",
					   "a pid is a number from 1 to 4194304");
		if (snoopers_add_id(request->spec->snoopers, (pid_t)pid) < 0)
			return no_memory(request);
	}
	return 0;
}

/* A text that may be missing; NULL: it is something else, or too long. */
static const char *optional_text(const cJSON *object, const char *key, size_t max)
{
	const cJSON *value = member(object, key);

	if (!value)
		return "";
	return cJSON_IsString(value) && strlen(value->valuestring) <= max ? value->valuestring
									  : NULL;
}

static int take_name(struct request *request, const cJSON *entry)
{
	const cJSON *comm = member(entry, "comm"), *list = member(entry, "probe");
	uint32_t probes = 0;

	if (!cJSON_IsObject(entry) || !cJSON_IsString(comm))
		return bad_snooper(request, "proc_name", "");
	const char *cmdline = optional_text(entry, "cmdline", CMDLINE_MAX);
	const char *debugging_dir = optional_text(entry, "debugging_dir", CMDLINE_MAX);
	if (!cmdline)
		return bad_snooper(request, "proc_name",
				   "cmdline must be a text of at most 4096 bytes");
	if (!debugging_dir || (debugging_dir[0] && debugging_dir[0] != '/'))
		return bad_snooper(request, "proc_name", "debugging_dir must be an absolute path");
	if (list && request->rules->probes_share)
		return bad_snooper(request, "proc_name",
				   "all probes of this feature have the same processes, an entry "
				   "can't have probes of its own");
	if (list) {
		int r = take_probes(request, list, &probes);
		if (r < 0)
			return r;
	}
	switch (snoopers_add_name(request->spec->snoopers, comm->valuestring, cmdline,
				  debugging_dir, probes)) {
	case 0:
		return 0;
	case -E2BIG:
		return bad_snooper(request, "proc_name", "comm has more than 255 bytes");
	case -EINVAL:
		return bad_snooper(request, "proc_name",
				   "comm is no valid regular expression, or too big a one");
	default:
		return no_memory(request);
	}
}

static int take_names(struct request *request, const cJSON *list)
{
	const cJSON *entry;

	if (!cJSON_IsArray(list))
		return bad_snooper(request, "proc_name", "must be an array");
	if (cJSON_GetArraySize(list) > NAMES_MAX)
		return bad_snooper(request, "proc_name", "more than 100 entries");
	cJSON_ArrayForEach (entry, list) {
		int r = take_name(request, entry);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Selectors of later versions: nothing chosen by them is fine. */
static int refuse_later_snoopers(const struct request *request, const cJSON *snoopers)
{
	static const char *const later[] = {"pod_id", "container_id", "container_name",
					    "cgroup", "pod",	      "image"};

	for (size_t i = 0; i < ARRAY_SIZE(later); i++) {
		const cJSON *value = member(snoopers, later[i]);

		if (!value || (cJSON_IsArray(value) && cJSON_GetArraySize(value) == 0))
			continue;
		if (cJSON_IsString(value) && !value->valuestring[0])
			continue;
		return refuse_later(request, later[i]);
	}
	return 0;
}

static int take_snoopers(struct request *request, const cJSON *snoopers)
{
	const cJSON *ids = member(snoopers, "proc_id"), *names = member(snoopers, "proc_name");
	struct snoopers *fresh;

	if (!cJSON_IsObject(snoopers))
		return refuse(request, "Bad request");
	if (snoopers_new(&fresh) < 0)
		return no_memory(request);
	snoopers_unref(request->spec->snoopers);
	request->spec->snoopers = fresh;
	int r = refuse_later_snoopers(request, snoopers);
	if (r == 0 && ids)
		r = take_ids(request, ids);
	if (r == 0 && names)
		r = take_names(request, names);
	return r;
}

/* ---- params ---- */

static int take_number(struct request *request, const struct param *param, const cJSON *value)
{
	if (!cJSON_IsNumber(value))
		return refuse(request, "params.%s invalid data type", param->name);
	double number = trunc(value->valuedouble);
	if (number == 0 && param->zero_is_default)
		number = (double)param->number;
	if (!(number >= (double)param->min && number <= (double)param->max))
		return refuse(request, "params.%s invalid value %.15g, must be in [%lld, %lld]",
			      param->name, value->valuedouble, (long long)param->min,
			      (long long)param->max);
	/* JSON's numbers are doubles: the one next to the largest one is beyond it. */
	*param_number(param, &request->spec->params) =
		number < (double)INT64_MAX ? (int64_t)number : INT64_MAX;
	return 0;
}

static int take_choice(struct request *request, const struct param *param, const cJSON *value)
{
	char all[256] = "";
	size_t len = 0;

	if (!cJSON_IsString(value))
		return refuse(request, "params.%s invalid data type", param->name);
	for (int i = 0; param->choices[i]; i++) {
		if (strcasecmp(value->valuestring, param->choices[i]) == 0) {
			if (param->later_choices & 1u << i)
				return refuse(request, "not available in this version: %s %s",
					      param->name, param->choices[i]);
			*param_number(param, &request->spec->params) = i;
			return 0;
		}
		if (len < sizeof(all))
			len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "",
						param->choices[i]);
	}
	return refuse(request, "params.%s invalid value %.64s, must be one of %s", param->name,
		      value->valuestring, all);
}

static int check_folder(const struct request *request, const struct param *param, const char *path)
{
	char roots[256] = "";
	size_t len = 0;
	int fd = store_open_folder(request->roots, path);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	switch (fd) {
	case -EINVAL:
		return refuse(request, "params.%s must be an absolute path without \"..\"",
			      param->name);
	case -EPERM:
		for (size_t i = 0; i < request->roots->count && len < sizeof(roots); i++)
			len += (size_t)snprintf(roots + len, sizeof(roots) - len, " %s",
						request->roots->paths[i]);
		return refuse(request, "params.%s must be below one of output_roots:%s",
			      param->name, roots);
	case -ELOOP:
		return refuse(request, "params.%s leads through a symbolic link", param->name);
	default:
		return refuse(request, "params.%s can't be used: %s", param->name, strerror(-fd));
	}
}

static int take_text(struct request *request, const struct param *param, const cJSON *value)
{
	char *to = param_text(param, &request->spec->params);

	if (!cJSON_IsString(value))
		return refuse(request, "params.%s invalid data type", param->name);
	const char *text = value->valuestring;
	if (strlen(text) >= param->bytes)
		return refuse(request, "params.%s value is too long, len must be less than %zu",
			      param->name, param->bytes);
	if (param->type == PARAM_FOLDER) {
		for (const char *c = text; *c; c++) {
			if ((unsigned char)*c < ' ')
				return refuse(request, "params.%s contains unsafe characters",
					      param->name);
		}
		if (request->folders_count < ARRAY_SIZE(request->folders))
			request->folders[request->folders_count++] = param;
	}
	snprintf(to, param->bytes, "%s", text);
	return 0;
}

static int take_param(struct request *request, const struct param *param, const cJSON *value)
{
	if (param->missing)
		return refuse_later(request, param->name);
	switch (param->type) {
	case PARAM_NUMBER:
		return take_number(request, param, value);
	case PARAM_CHOICE:
		return take_choice(request, param, value);
	default:
		return take_text(request, param, value);
	}
}

/* Of two that exclude each other one may be given, and that one counts. */
static int settle(struct request *request, const struct param *param, const cJSON *values)
{
	if (!member(values, param->instead_of))
		return 0;
	if (member(values, param->name))
		return refuse(request, "params.%s and params.%s exclude each other", param->name,
			      param->instead_of);
	*param_number(param, &request->spec->params) = param->number;
	return 0;
}

static int take_params(struct request *request, const cJSON *values)
{
	const struct param_table *table = request->rules->params;
	int r = 0;

	if (!cJSON_IsObject(values))
		return refuse(request, "Bad request");
	for (size_t i = 0; r == 0 && i < table->count; i++) {
		const cJSON *value = member(values, table->rows[i].name);

		r = value ? take_param(request, &table->rows[i], value) : 0;
	}
	for (size_t i = 0; r == 0 && i < table->count; i++) {
		if (table->rows[i].instead_of)
			r = settle(request, &table->rows[i], values);
	}
	return r;
}

/* ---- the whole ---- */

static int take_state(struct request *request, const cJSON *state)
{
	if (!cJSON_IsString(state))
		return refuse(request, "invalid state: must be string");
	if (strcasecmp(state->valuestring, "running") == 0)
		request->spec->running = true;
	else if (strcasecmp(state->valuestring, "stopped") == 0)
		request->spec->running = false;
	else
		return refuse(request, "invalid state %.200s: must be running or stopped",
			      state->valuestring);
	return 0;
}

static int take_all(struct request *request, const cJSON *root)
{
	const cJSON *cmd = member(root, "cmd"), *snoopers = member(root, "snoopers");
	const cJSON *params = member(root, "params"), *state = member(root, "state");
	int r = 0;

	if (member(root, "blacklist"))
		return refuse(request, "blacklist is not supported: use snoopers");
	if (!cmd && !snoopers && !params && !state)
		return refuse(request, "Bad request");
	if (cmd)
		r = take_cmd(request, cmd);
	if (r == 0 && snoopers)
		r = take_snoopers(request, snoopers);
	if (r == 0 && !request->rules->everybody && snoopers_empty(request->spec->snoopers))
		return refuse(request, "the snooper for %s cannot be empty",
			      request->rules->feature);
	if (r == 0 && params)
		r = take_params(request, params);
	if (r == 0 && state)
		r = take_state(request, state);
	if (r == 0 && request->spec->running && !request->spec->probes)
		return refuse(request, "invalid probe ranges: at least one must be set");
	for (size_t i = 0; r == 0 && i < request->folders_count; i++)
		r = check_folder(request, request->folders[i],
				 param_text(request->folders[i], &request->spec->params));
	return r;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* application/x-www-form-urlencoded, in place. False: a broken escape. */
static bool url_decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '%') {
			int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);

			if (low < 0 || (high == 0 && low == 0))
				return false;
			*to++ = (char)(high * 16 + low);
			from += 2;
		} else {
			*to++ = *from == '+' ? ' ' : *from;
		}
	}
	*to = '\0';
	return true;
}

/* "\u0000" would end a text before its end. */
static bool has_escaped_nul(const char *json)
{
	for (const char *at = json; (at = strstr(at, "\\u0000")); at++) {
		size_t backslashes = 1;

		while (at - backslashes >= json && *(at - backslashes) == '\\')
			backslashes++;
		if (backslashes % 2)
			return true;
	}
	return false;
}

/* The JSON in a body, or NULL. Raw JSON may hold '%' and '+' in patterns: it is raw if it begins as
 * JSON does. */
static char *find_json(char *data, size_t bytes)
{
	if (memchr(data, '\0', bytes))
		return NULL;
	data[bytes] = '\0';
	char *json = strncmp(data, "json=", 5) == 0 ? data + 5 : data;
	char first = json[strspn(json, " \t\r\n+")];
	if (json != data && first != '{' && first != '/' && !url_decode(json))
		return NULL;
	if (has_escaped_nul(json))
		return NULL;
	for (size_t at = 0, len = strlen(json); at < len;) {
		size_t n = utf8_sequence(json + at, len - at);

		if (!n)
			return NULL;
		at += n;
	}
	return json;
}

static void free_json(cJSON **json)
{
	cJSON_Delete(*json);
}

int request_parse(char *data, size_t bytes, const struct rules *rules, const struct spec *before,
		  const struct store_roots *roots, struct spec *spec,
		  char message[REQUEST_MESSAGE_MAX])
{
	_cleanup_(spec_done) struct spec fresh = {0};
	struct request request = {
		.rules = rules, .roots = roots, .message = message, .spec = &fresh};
	struct params defaults;
	char *text = find_json(data, bytes);

	if (!text)
		return refuse(&request, "invalid json format");
	cJSON_Minify(text); /* takes comments away, which gala-gopher's parser allows */
	_cleanup_(free_json) cJSON *root = cJSON_Parse(text);
	if (!cJSON_IsObject(root))
		return refuse(&request, root ? "Bad request" : "invalid json format");
	params_default(rules->params, &defaults);
	if (before)
		spec_copy(&fresh, before);
	else if (spec_init(&fresh, &defaults) < 0)
		return no_memory(&request);
	int r = take_all(&request, root);
	if (r < 0)
		return r;
	*spec = fresh;
	fresh.snoopers = NULL;
	return 0;
}
