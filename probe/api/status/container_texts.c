// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/container_texts.h"

void container_labels_of(struct container_labels *labels, const struct container *container)
{
	labels->container = labels->pod = labels->pod_namespace = "";
	if (!container)
		return;
	labels->container = container_label(container, labels->room[0], sizeof(labels->room[0]));
	const char *pod = container_pod_label(container, labels->room[1], sizeof(labels->room[1]));
	if (pod)
		labels->pod = pod;
	labels->pod_namespace = container->pod_namespace;
}

static void add_label(struct json *json, const char *key, const char *text)
{
	if (text[0])
		json_name(json, key, text);
}

void container_json(struct json *json, const struct container *container, pid_t pid, pid_t ns_pid)
{
	struct container_labels labels;

	container_labels_of(&labels, container);
	add_label(json, "container", labels.container);
	add_label(json, "pod", labels.pod);
	add_label(json, "namespace", labels.pod_namespace);
	if (ns_pid > 0 && ns_pid != pid)
		json_u64(json, "container_pid", (uint64_t)ns_pid);
}
