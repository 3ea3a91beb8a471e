// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/request/container_json.h"

#include <string.h>

#include "api/status/status.h"

static const char *runtime_name(enum container_runtime runtime)
{
	static const char *const names[] = {
		[CONTAINER_OTHER] = "",	       [CONTAINER_DOCKER] = "docker",
		[CONTAINER_PODMAN] = "podman", [CONTAINER_CONTAINERD] = "containerd",
		[CONTAINER_CRIO] = "cri-o",
	};

	return names[runtime];
}

static void add_snoopers(cJSON *list, enum container_by by, const struct snoopers *snoopers)
{
	const struct container_snooper *entries;
	size_t count = snoopers_containers(snoopers, &entries);

	for (size_t i = 0; i < count; i++) {
		if (entries[i].by != by)
			continue;
		if (by != BY_POD) {
			cJSON_AddItemToArray(list, cJSON_CreateString(entries[i].text));
			continue;
		}
		cJSON *pod = cJSON_CreateObject();
		cJSON_AddStringToObject(pod, "name", entries[i].text);
		cJSON_AddStringToObject(pod, "namespace", entries[i].pod_namespace);
		cJSON_AddItemToArray(list, pod);
	}
}

void status_container_snoopers(cJSON *to, const struct snoopers *snoopers)
{
	for (int by = 0; by < CONTAINER_BY_COUNT; by++)
		add_snoopers(cJSON_AddArrayToObject(to, container_by_name(by)), by, snoopers);
}

static void add_text(cJSON *to, const char *key, const char *text)
{
	status_add_text(to, key, text, strlen(text));
}

void status_container(cJSON *to, const struct container *container)
{
	if (!container) {
		cJSON_AddNullToObject(to, "container");
		return;
	}
	cJSON *entry = cJSON_AddObjectToObject(to, "container");
	add_text(entry, "id", container->place.id);
	add_text(entry, "name", container->name);
	add_text(entry, "pod", container->pod);
	add_text(entry, "pod_id", container->place.pod_uid);
	add_text(entry, "namespace", container->pod_namespace);
	add_text(entry, "image", container->image);
	add_text(entry, "runtime", runtime_name(container->place.runtime));
}

void status_containers(cJSON *to, const struct containers_stats *stats, uint64_t searches_failed)
{
	cJSON *entry = cJSON_AddObjectToObject(to, "containers");

	cJSON_AddNumberToObject(entry, "known", (double)stats->containers);
	cJSON_AddNumberToObject(entry, "cgroups", (double)stats->groups);
	cJSON_AddNumberToObject(entry, "refused", (double)stats->refused);
	cJSON_AddNumberToObject(entry, "unnamed", (double)stats->unnamed);
	cJSON_AddNumberToObject(entry, "given_up", (double)stats->given_up);
	cJSON_AddNumberToObject(entry, "searches_failed", (double)searches_failed);
}
