/* SPDX-License-Identifier: GPL-2.0-only */
/* A process's container in answers: its labels, where they are known. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "container/container.h"

/* Texts of a container; "": not known. They are borrowed of the container, or lie in `room`. */
struct container_labels {
	const char *container, *pod, *pod_namespace;
	char room[2][CONTAINER_NAME_MAX];
};

/* Fills `labels`; `container` may be NULL: in none, or not known. */
void container_labels_of(struct container_labels *labels, const struct container *container);

/* `,"container":"web","pod":"front","namespace":"shop","container_pid":1`; the last one where it
 * isn't the host's. In none, or not known: nothing. */
void container_json(struct buf *out, const struct container *container, pid_t pid, pid_t ns_pid);
