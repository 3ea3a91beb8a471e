/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Containers in JSON: how a PUT chooses them, and what GET shows of them. */
#pragma once

#include "base/json.h"
#include "container/container.h"
#include "select/containers.h"
#include "select/snooper.h"

/* Returns the key of a PUT for one way of choosing containers. Static text. */
const char *container_by_name(enum container_by by);

/* Adds the entries of all container snoopers, in the form of a PUT. */
void status_container_snoopers(struct json *json, const struct snoopers *snoopers);

/* Adds "container": {…}, or null for a process in no container (`container` NULL). */
void status_container(struct json *json, const struct container *container);
