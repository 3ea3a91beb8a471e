/* SPDX-License-Identifier: GPL-2.0-only */
/* A process's container in answers: its labels, where they are known. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "container/container.h"

/* `,"container":"web","pod":"front","namespace":"shop","container_pid":1`; the last one where it
 * isn't the host's. In none, or not known: nothing. */
void container_json(struct buf *out, const struct container *container, pid_t pid, pid_t ns_pid);

/* `,container="web",pod="front",namespace="shop"` of /metrics; in none, or not known: nothing. */
void container_metrics(struct buf *out, const struct container *container);
