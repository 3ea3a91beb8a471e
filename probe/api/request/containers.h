/* SPDX-License-Identifier: GPL-2.0-only */
/* Containers in JSON: how they are chosen, and what is known of them. */
#pragma once

#include <cjson/cJSON.h>

#include "container/container.h"
#include "select/containers.h"
#include "select/snooper.h"

/* The key of a PUT. */
const char *container_by_name(enum container_by by);

/* The entries, as a PUT has them. */
void status_container_snoopers(cJSON *to, const struct snoopers *snoopers);

/* "containers": {…}, what is known of all of them. */
void status_containers(cJSON *to, const struct containers_stats *stats, uint64_t searches_failed);

/* "container": {…}; null where it is in none. */
void status_container(cJSON *to, const struct container *container);
