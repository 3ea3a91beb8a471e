// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the params of a body, each by its row (select/param.h). */
#include "api/request/request_state.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "pressure/pressure_text.h"
#include "upload/http/destination.h"
#include "upload/http/server_url.h"

#define PARAMS_MAX 64

/* Keys of gala-gopher that mean nothing here (doc/gala-gopher.md). */
static const char *const foreign_params[] = {"report_period",
					     "report_event",
					     "res_lower_thr",
					     "res_upper_thr",
					     "latency_thr",
					     "jitter_thr",
					     "offline_thr",
					     "drops_thr",
					     "sample_period",
					     "metrics_type",
					     "env",
					     "l7_protocol",
					     "support_ssl",
					     "dev_name",
					     "kafka_port",
					     "cadvisor_port",
					     "host_ip_list",
					     "report_source_port",
					     "continuous_sampling",
					     "elf_path",
					     "cluster_ip_backend",
					     "multi_instance",
					     "perf_sample_period"};

/* Copies a sentence of a document without its Markdown: links' addresses and back quotes. */
static void copy_plain(char *to, size_t bytes, const char *text)
{
	size_t len = 0;

	for (; *text && len + 1 < bytes; text++) {
		if (*text == '[' || *text == '`')
			continue;
		if (*text == ']' && text[1] == '(' && strchr(text, ')'))
			text = strchr(text, ')');
		else
			to[len++] = *text;
	}
	to[len] = '\0';
}

/* Explains what a param is and may be. */
static void explain_param(const struct request *request, const struct param *param)
{
	char may[256] = "a text", help[512];
	size_t len = 0;

	if (param->type == PARAM_NUMBER) {
		snprintf(may, sizeof(may), "a number from %lld to %lld%s%s", (long long)param->min,
			 (long long)param->max, param->unit ? " " : "",
			 param->unit ? param->unit : "");
	} else if (param->type == PARAM_CHOICE) {
		for (int i = 0; param->choices[i] && len < sizeof(may); i++)
			len += (size_t)snprintf(may + len, sizeof(may) - len, "%s%s",
						i ? ", " : "one of ", param->choices[i]);
	} else if (param->type == PARAM_FOLDER) {
		snprintf(may, sizeof(may), "an absolute path of less than %zu bytes", param->bytes);
	}
	copy_plain(help, sizeof(help), param->help ? param->help : "");
	notes_explain(request->notes, "params.%s is %s%s%s", param->name, may, help[0] ? ": " : "",
		      help);
}

static void check_keys(const struct request *request, const struct param_table *table,
		       const cJSON *values)
{
	const char *keys[PARAMS_MAX];
	struct known_keys known = {
		.keys = keys, .silent = foreign_params, .silent_count = ARRAY_SIZE(foreign_params)};

	for (size_t i = 0; i < table->count && known.count < PARAMS_MAX; i++)
		keys[known.count++] = table->rows[i].name;
	request_check_keys(request, "params", values, &known);
}

static int take_number(struct request *request, const struct param *param, const cJSON *value)
{
	if (!cJSON_IsNumber(value))
		return request_refuse(request, "params.%s invalid data type", param->name);
	double number = trunc(value->valuedouble);
	if (number == 0 && param->zero_is_default)
		number = (double)param->number;
	if (!(number >= (double)param->min && number <= (double)param->max))
		return request_refuse(request,
				      "params.%s invalid value %.15g, must be in [%lld, %lld]",
				      param->name, value->valuedouble, (long long)param->min,
				      (long long)param->max);
	/* Numbers in JSON are doubles: the double next to INT64_MAX is larger than INT64_MAX. */
	*param_number(param, &request->spec->params) =
		number < (double)INT64_MAX ? (int64_t)number : INT64_MAX;
	return 0;
}

static int take_choice(struct request *request, const struct param *param, const cJSON *value)
{
	char all[256] = "";
	size_t len = 0;

	if (!cJSON_IsString(value))
		return request_refuse(request, "params.%s invalid data type", param->name);
	for (int i = 0; param->choices[i]; i++) {
		if (strcasecmp(value->valuestring, param->choices[i]) == 0) {
			*param_number(param, &request->spec->params) = i;
			return 0;
		}
		if (len < sizeof(all))
			len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "",
						param->choices[i]);
	}
	return request_refuse(request, "params.%s invalid value %.64s, must be one of %s",
			      param->name, value->valuestring, all);
}

/* Reads a trigger, and warns of one that can't fire. */
static int check_trigger(struct request *request, const struct param *param, const char *text)
{
	struct pressure_text read;
	struct why wrong;

	if (!text[0])
		return 0;
	if (pressure_text_read(&read, text, &wrong) < 0) {
		notes_explain(request->notes,
			      "params.%s %.200s: %.400s. It is RESOURCE some|full STALL_US "
			      "WINDOW_US [CGROUP], such as cpu some 300000 2000000",
			      param->name, text, wrong.text);
		return request_refuse(request, "params.%s invalid value: %.900s", param->name,
				      wrong.text);
	}
	if (pressure_text_is_idle(&read))
		notes_warn(request->notes,
			   "params.%s never fires: \"full\" of the whole host's cpu is always 0; "
			   "name a cgroup, or say some",
			   param->name);
	return 0;
}

static int take_text(struct request *request, const struct param *param, const cJSON *value)
{
	char *to = param_text(param, &request->spec->params);

	if (!cJSON_IsString(value))
		return request_refuse(request, "params.%s invalid data type", param->name);
	const char *text = value->valuestring;
	/* gala-gopher's GET, and so its probes.init, shows an output_dir of "" where none was
	 * set. */
	if (param->alias && !text[0])
		return 0;
	if (strlen(text) >= param->bytes)
		return request_refuse(request,
				      "params.%s value is too long, len must be less than %zu",
				      param->name, param->bytes);
	if (param->type == PARAM_FOLDER) {
		for (const char *c = text; *c; c++) {
			if ((unsigned char)*c < ' ')
				return request_refuse(request,
						      "params.%s contains unsafe characters",
						      param->name);
		}
		if (request->folders.count < REQUEST_FOLDERS_MAX)
			request->folders.params[request->folders.count++] = param;
	}
	if (param->type == PARAM_SERVER && request->bounds->upload &&
	    upload_is_forbidden(request->bounds->upload, text))
		return request_refuse(request,
				      "params.%s %s is not in upload.allow of the conf file",
				      param->name, text);
	if (param->type == PARAM_TRIGGER && check_trigger(request, param, text) < 0)
		return -EINVAL;
	if (param->type == PARAM_SERVER)
		server_url_show(text, to, param->bytes);
	else
		snprintf(to, param->bytes, "%s", text);
	return 0;
}

static int take_param(struct request *request, const struct param *param, const cJSON *value)
{
	explain_param(request, param);
	switch (param->type) {
	case PARAM_EVENTS:
		return 0; /* request_take_events() */
	case PARAM_NUMBER:
		return take_number(request, param, value);
	case PARAM_CHOICE:
		return take_choice(request, param, value);
	default:
		return take_text(request, param, value);
	}
}

int request_take_events(struct request *request, const cJSON *values)
{
	const struct event_rules *events = request->rules->events;
	const cJSON *list = request_member(values, "events"), *event;
	struct params *params = &request->spec->params;
	int r = 0;

	if (!events || !list)
		return 0;
	notes_explain(
		request->notes,
		"params.events is an object: {\"reads\": \"u:/usr/lib/libx.so:read\"} makes the "
		"probe event:reads");
	if (!cJSON_IsObject(list))
		return request_refuse(request, "params.events invalid data type");
	events->clear(params);
	request->folders.has_events = true;
	cJSON_ArrayForEach (event, list) {
		if (!cJSON_IsString(event))
			return request_refuse(request, "params.events.%.64s invalid data type",
					      event->string);
		r = events->add(params, request->before, event->string, event->valuestring,
				request->why);
		if (r < 0) {
			request_repair(request);
			notes_explain(request->notes, "%s", request->why->text);
			return r == -EBUSY ? r : -EINVAL;
		}
	}
	notes_explain(request->notes, "%s", "");
	return 0;
}

int request_settle_events(struct request *request)
{
	const struct event_rules *events = request->rules->events;
	struct spec *spec = request->spec;
	const struct name_snooper *names;

	if (!events)
		return 0;
	events->settle(&spec->params);
	if (spec->params.event_time && request->folders.has_events)
		notes_warn(request->notes,
			   "params.event_time 1: a C++ exception that passes through a function "
			   "whose return is probed ends the program");
	spec->probes &= ~events->unnamed(&spec->params);
	for (size_t i = 0, count = snoopers_names(spec->snoopers, &names); i < count; i++) {
		if (names[i].probes_given && names[i].probes & events->unnamed(&spec->params))
			return request_refuse(request,
					      "snoopers.proc_name has a probe event:NAME that "
					      "params.events has no more: send snoopers as well");
	}
	return 0;
}

/* Settles two params that exclude each other: one may be given, and that one counts. */
static int settle_params(struct request *request, const struct param *param, const cJSON *values)
{
	if (!request_member(values, param->instead_of))
		return 0;
	notes_explain(request->notes, "one of the two says how often samples are taken");
	if (request_member(values, param->name))
		return request_refuse(request, "params.%s and params.%s exclude each other",
				      param->name, param->instead_of);
	*param_number(param, &request->spec->params) = param->number;
	return 0;
}

int request_take_params(struct request *request, const cJSON *values)
{
	const struct param_table *table = request->rules->params();
	int r = 0;

	if (!cJSON_IsObject(values)) {
		notes_explain(request->notes, "params is an object: {\"svg_period\": 60}");
		return request_refuse(request, "Bad request");
	}
	check_keys(request, table, values);
	for (size_t i = 0; r == 0 && i < table->count; i++) {
		const cJSON *value = request_member(values, table->rows[i].name);

		r = value ? take_param(request, &table->rows[i], value) : 0;
	}
	for (size_t i = 0; r == 0 && i < table->count; i++) {
		if (table->rows[i].instead_of)
			r = settle_params(request, &table->rows[i], values);
	}
	if (r == 0)
		notes_explain(request->notes, "%s", "");
	return r;
}

static int check_folder(const struct request *request, const struct param *param, const char *path)
{
	const struct store_roots *bounds = &request->bounds->roots;
	char root[STORE_PATH_MAX], roots[256] = "";
	const char *below;
	size_t len = 0;

	explain_param(request, param);
	switch (store_split_path(bounds, path, root, &below)) {
	case 0:
		return 0;
	case -EPERM:
		for (size_t i = 0; i < bounds->count && len < sizeof(roots); i++)
			len += (size_t)snprintf(roots + len, sizeof(roots) - len, " %s",
						bounds->paths[i]);
		return request_refuse(request, "params.%s must be below one of output_roots:%s",
				      param->name, roots);
	default:
		return request_refuse(request, "params.%s must be an absolute path without \"..\"",
				      param->name);
	}
}

int request_check_folders(const struct request *request)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < request->folders.count; i++) {
		const struct param *param = request->folders.params[i];

		r = check_folder(request, param, param_text(param, &request->spec->params));
	}
	return r;
}
