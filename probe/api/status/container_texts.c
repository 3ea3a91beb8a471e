// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/container_texts.h"

#include <string.h>

#include "output/text/json_string.h"

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

static void put_json(struct buf *out, const char *key, const char *text)
{
	if (!text[0])
		return;
	buf_printf(out, ",\"%s\":", key);
	json_string(out, text, strlen(text));
}

void container_json(struct buf *out, const struct container *container, pid_t pid, pid_t ns_pid)
{
	struct container_labels labels;

	container_labels_of(&labels, container);
	put_json(out, "container", labels.container);
	put_json(out, "pod", labels.pod);
	put_json(out, "namespace", labels.pod_namespace);
	if (ns_pid > 0 && ns_pid != pid)
		buf_printf(out, ",\"container_pid\":%d", (int)ns_pid);
}
