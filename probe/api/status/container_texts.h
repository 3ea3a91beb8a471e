/* SPDX-License-Identifier: GPL-2.0-only */
/* The labels of a process's container in answers, where they are known. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "container/container.h"

/* Writes `,"container":"web","pod":"front","namespace":"shop","container_pid":1`; the pid only if
 * it differs from the host's. Writes nothing of a label that isn't known, and none of the labels if
 * `container` is NULL. */
void container_json(struct buf *out, const struct container *container, pid_t pid, pid_t ns_pid);

/* Writes `,container="web",pod="front",namespace="shop"` for /metrics, without labels that aren't
 * known. */
void container_metrics(struct buf *out, const struct container *container);
