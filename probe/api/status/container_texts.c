// SPDX-License-Identifier: GPL-2.0-only
#include "api/status/container_texts.h"

#include <string.h>

#include "api/metrics/metrics_lines.h"
#include "output/text/json_string.h"

struct texts {
	char container[CONTAINER_NAME_MAX], pod[CONTAINER_NAME_MAX];
};

struct labels {
	const char *container, *pod, *pod_namespace; /* "": not known */
};

static struct labels labels_of(const struct container *container, struct texts *texts)
{
	struct labels labels = {"", "", ""};

	if (!container)
		return labels;
	labels.container = container_label(container, texts->container, sizeof(texts->container));
	labels.pod = container_pod_label(container, texts->pod, sizeof(texts->pod));
	if (!labels.pod)
		labels.pod = "";
	labels.pod_namespace = container->pod_namespace;
	return labels;
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
	struct texts texts;
	struct labels labels = labels_of(container, &texts);

	put_json(out, "container", labels.container);
	put_json(out, "pod", labels.pod);
	put_json(out, "namespace", labels.pod_namespace);
	if (ns_pid > 0 && ns_pid != pid)
		buf_printf(out, ",\"container_pid\":%d", (int)ns_pid);
}

static void put_label(struct buf *out, const char *name, const char *text)
{
	if (!text[0])
		return;
	buf_printf(out, ",%s=\"", name);
	metrics_label(out, text, strlen(text));
	buf_char(out, '"');
}

void container_metrics(struct buf *out, const struct container *container)
{
	struct texts texts;
	struct labels labels = labels_of(container, &texts);

	put_label(out, "container", labels.container);
	put_label(out, "pod", labels.pod);
	put_label(out, "namespace", labels.pod_namespace);
}
