// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/request/container_json.h"

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

static void add_snoopers(struct json *json, enum container_by by, const struct snoopers *snoopers)
{
	const struct container_snooper *entries;
	size_t count = snoopers_containers(snoopers, &entries);

	json_array(json, container_by_name(by));
	for (size_t i = 0; i < count; i++) {
		if (entries[i].by != by)
			continue;
		if (by != BY_POD) {
			json_text(json, NULL, entries[i].text);
			continue;
		}
		json_object(json, NULL);
		json_text(json, "name", entries[i].text);
		json_text(json, "namespace", entries[i].pod_namespace);
		json_object_end(json);
	}
	json_array_end(json);
}

void status_container_snoopers(struct json *json, const struct snoopers *snoopers)
{
	for (int by = 0; by < CONTAINER_BY_COUNT; by++)
		add_snoopers(json, by, snoopers);
}

void status_container(struct json *json, const struct container *container)
{
	if (!container) {
		json_raw(json, "container", "null");
		return;
	}
	json_object(json, "container");
	json_name(json, "id", container->place.id);
	json_name(json, "name", container->name);
	json_name(json, "pod", container->pod);
	json_name(json, "pod_id", container->place.pod_uid);
	json_name(json, "namespace", container->pod_namespace);
	json_name(json, "image", container->image);
	json_name(json, "runtime", runtime_name(container->place.runtime));
	json_object_end(json);
}
