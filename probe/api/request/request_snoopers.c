// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the snoopers of a body that choose processes by pid and by name. */
#include "api/request/request_state.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "api/request/container_json.h"

#define PIDS_MAX    16384
#define NAMES_MAX   100
#define PID_MAX	    4194304 /* include/linux/threads.h: PID_MAX_LIMIT */
#define CMDLINE_MAX 4096

/* What is right; shown where a snooper is refused. */
static const char *shape_of(const char *key)
{
	if (strcmp(key, "proc_id") == 0)
		return "snoopers.proc_id is an array of pids: [1234, 5678]";
	return "snoopers.proc_name is an array of objects with comm, a regular expression, or "
	       "cmdline, a part of the command line, or both; and debugging_dir and probe where "
	       "they are wanted: [{\"comm\": \"^nginx$\", \"cmdline\": \"worker\"}]";
}

static int bad_snooper(const struct request *request, const char *key, const char *why)
{
	notes_explain(request->notes, "%s", shape_of(key));
	return request_refuse(request, "Error occurs when parsing snooper %s%s%s", key,
			      why[0] ? ": " : "", why);
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
			return request_no_memory(request);
		if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			notes_warn(request->notes, "snoopers.proc_id: there is no process %d now",
				   (int)pid);
	}
	return 0;
}

/* Returns a text that may be missing (""); NULL: the value is no text, or too long. */
static const char *optional_text(const cJSON *object, const char *key, size_t max)
{
	const cJSON *value = request_member(object, key);

	if (!value)
		return "";
	return cJSON_IsString(value) && strlen(value->valuestring) <= max ? value->valuestring
									  : NULL;
}

static int take_name(struct request *request, const cJSON *entry)
{
	static const char *const keys[] = {"comm", "cmdline", "debugging_dir", "probe"};
	static const struct known_keys known = {
		.keys = keys,
		.count = ARRAY_SIZE(keys),
	};
	const cJSON *comm = request_member(entry, "comm"), *list = request_member(entry, "probe");
	uint32_t probes = 0;

	/* A cmdline alone is enough: then any name will do. An empty one would choose everybody. */
	const char *line = cJSON_GetStringValue(request_member(entry, "cmdline"));
	if (!cJSON_IsObject(entry) || (comm ? !cJSON_IsString(comm) : !line || !line[0]))
		return bad_snooper(request, "proc_name", "");
	request_check_keys(request, "snoopers.proc_name", entry, &known);
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
		int r = request_take_probes(request, list, &probes);
		if (r < 0)
			return r;
	}
	switch (snoopers_add_name(request->spec->snoopers, comm ? comm->valuestring : "", cmdline,
				  debugging_dir, probes)) {
	case 0:
		return 0;
	case -E2BIG:
		return bad_snooper(request, "proc_name", "comm has more than 255 bytes");
	case -EINVAL:
		return bad_snooper(request, "proc_name",
				   "comm is no valid regular expression, or too big a one");
	default:
		return request_no_memory(request);
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

static void check_keys(const struct request *request, const cJSON *snoopers)
{
	const char *keys[2 + CONTAINER_BY_COUNT] = {"proc_id", "proc_name"};
	const struct known_keys known = {
		.keys = keys,
		.count = 2 + CONTAINER_BY_COUNT,
		.silent = (const char *const[]){"gaussdb"}, /* gala-gopher's */
		.silent_count = 1,
	};

	for (int by = 0; by < CONTAINER_BY_COUNT; by++)
		keys[2 + by] = container_by_name(by);
	request_check_keys(request, "snoopers", snoopers, &known);
}

int request_take_snoopers(struct request *request, const cJSON *snoopers)
{
	const cJSON *ids = request_member(snoopers, "proc_id"),
		    *names = request_member(snoopers, "proc_name");
	struct snoopers *fresh;

	if (!cJSON_IsObject(snoopers)) {
		notes_explain(request->notes, "snoopers is an object: {\"proc_id\": [1234]}");
		return request_refuse(request, "Bad request");
	}
	check_keys(request, snoopers);
	if (snoopers_new(&fresh) < 0)
		return request_no_memory(request);
	snoopers_unref(request->spec->snoopers);
	request->spec->snoopers = fresh;
	int r = ids ? take_ids(request, ids) : 0;
	if (r == 0 && names)
		r = take_names(request, names);
	return r < 0 ? r : request_take_containers(request, snoopers);
}
