/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels of a process's container in answers, where they are known. */
#pragma once

#include <sys/types.h>

#include "base/json.h"
#include "container/container.h"

/* The labels of a container; "": not known. Texts are borrowed from the container or lie in `room`.
 */
struct container_labels {
	const char *container, *pod, *pod_namespace;
	char room[2][CONTAINER_NAME_MAX];
};

/* Fills `labels`. `container` may be NULL: the process is in none, or that isn't known. */
void container_labels_of(struct container_labels *labels, const struct container *container);

/* Adds "container", "pod", "namespace" and "container_pid"; the pid only if it differs from the
 * host's. Adds nothing for a label that isn't known, and none of the labels if `container` is NULL.
 */
void container_json(struct json *json, const struct container *container, pid_t pid, pid_t ns_pid);
