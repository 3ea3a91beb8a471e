// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the snoopers of a body that choose containers, pods, images and cgroups. */
#include "api/request/request_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/request/container_json.h"

#define ENTRIES_MAX 100

/* What an entry has to be; shown if an entry is refused. */
static const struct {
	const char *name, *wrong;
} kinds[CONTAINER_BY_COUNT] = {
	[BY_POD_ID] = {"pod_id", "a pod's UID (with or without hyphens), or the first 12 or more "
				 "digits of podman's pod id, hexadecimal"},
	[BY_CONTAINER_ID] = {"container_id", "the first 12 to 64 digits of a container's id, "
					     "hexadecimal"},
	[BY_CONTAINER_NAME] = {"container_name", "a container's name without '/', or a valid "
						 "regular expression, no too big a one, between "
						 "slashes"},
	[BY_CGROUP] = {"cgroup", "a path in the v2 hierarchy, which begins with '/' and has no "
				 "empty parts, \".\" or \"..\""},
	[BY_POD] = {"pod", "an object with the pod's name, and its namespace where it is to count"},
	[BY_IMAGE] = {"image", "an image's name, or a valid regular expression, no too big a one, "
			       "between slashes"},
};

const char *container_by_name(enum container_by by)
{
	return kinds[by].name;
}

static int bad_entry(const struct request *request, enum container_by by, const char *why)
{
	notes_explain(request->notes, "snoopers.%s is an array; each entry is %s", kinds[by].name,
		      kinds[by].wrong);
	return request_refuse(request, "Error occurs when parsing snooper %s: %s", kinds[by].name,
			      why);
}

#define CGROUP_FOLDER "/sys/fs/cgroup"

/* Warns of a cgroup that there isn't now. The file system of cgroups is the kernel's own, which
 * always answers; where it isn't seen, nothing is known. */
static void check_cgroup(const struct request *request, const char *path)
{
	char folder[4096];

	snprintf(folder, sizeof(folder), CGROUP_FOLDER "%s", path);
	if (access(CGROUP_FOLDER "/cgroup.controllers", F_OK) == 0 && access(folder, F_OK) < 0 &&
	    errno == ENOENT)
		notes_warn(request->notes,
			   "snoopers.cgroup: there is no " CGROUP_FOLDER "%.180s now", path);
}

/* Returns the path in the hierarchy, also of one that is given as a folder. */
static const char *cgroup_path(const char *text)
{
	size_t len = strlen(CGROUP_FOLDER);

	if (strncmp(text, CGROUP_FOLDER, len) != 0 || (text[len] && text[len] != '/'))
		return text;
	return text[len] ? text + len : "/";
}

static int add_container(struct request *request, enum container_by by, const char *text,
			 const char *pod_namespace)
{
	char wrong[256];

	if (by == BY_CGROUP)
		text = cgroup_path(text);
	switch (snoopers_add_container(request->spec->snoopers, by, text, pod_namespace)) {
	case 0:
		if (by == BY_CGROUP)
			check_cgroup(request, text);
		return 0;
	case -E2BIG:
		return bad_entry(request, by, "it is too long");
	case -EINVAL:
		snprintf(wrong, sizeof(wrong), "must be %s", kinds[by].wrong);
		return bad_entry(request, by, wrong);
	default:
		return request_no_memory(request);
	}
}

static int take_pod(struct request *request, const cJSON *pod)
{
	const cJSON *name = request_member(pod, "name"), *in = request_member(pod, "namespace");

	if (!cJSON_IsObject(pod) || !cJSON_IsString(name) || (in && !cJSON_IsString(in)))
		return add_container(request, BY_POD, "", "");
	return add_container(request, BY_POD, name->valuestring, in ? in->valuestring : "");
}

static int take_entry(struct request *request, enum container_by by, const cJSON *entry)
{
	char wrong[256];

	if (by == BY_POD)
		return take_pod(request, entry);
	if (cJSON_IsString(entry))
		return add_container(request, by, entry->valuestring, NULL);
	snprintf(wrong, sizeof(wrong), "each must be a text: %s", kinds[by].wrong);
	return bad_entry(request, by, wrong);
}

static int take_list(struct request *request, enum container_by by, const cJSON *list)
{
	const cJSON *entry;

	if (cJSON_IsString(list) && !list->valuestring[0])
		return 0; /* an empty text chooses nothing */
	if (by == BY_POD && cJSON_IsObject(list))
		return take_pod(request, list);
	if (!cJSON_IsArray(list))
		return bad_entry(request, by, "must be an array");
	if (cJSON_GetArraySize(list) > ENTRIES_MAX)
		return bad_entry(request, by, "more than 100 entries");
	if (by == BY_CGROUP && cJSON_GetArraySize(list) && request->bounds->without_cgroup_v2)
		return bad_entry(request, by,
				 "this host has cgroups of version 1 alone, and these paths are "
				 "of version 2");
	cJSON_ArrayForEach (entry, list) {
		int r = take_entry(request, by, entry);
		if (r < 0)
			return r;
	}
	return 0;
}

int request_take_containers(struct request *request, const cJSON *snoopers)
{
	int r = 0;

	for (int by = 0; by < CONTAINER_BY_COUNT && r == 0; by++) {
		const cJSON *list = request_member(snoopers, kinds[by].name);

		if (list)
			r = take_list(request, by, list);
	}
	return r;
}
