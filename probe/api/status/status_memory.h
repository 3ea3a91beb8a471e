/* SPDX-License-Identifier: GPL-2.0-only */
/* What GET shows of the probes of memory beside what it shows of all. */
#pragma once

#include <cjson/cJSON.h>

#include "api/feature/feature.h"

/*
 * Adds to a probe's entry; to others' nothing.
 *
 *	mem:       "unseen": what becomes resident without an event, a sentence
 *	mem_glibc: "files", "points", "single_stepped"; while there are points "way": how returns
 *	           are probed, "targets_pay", "bystanders_pay": sentences;
 *	           "held": { "now", "max", "unnamed", "young", "refused", "unread", "stacks",
 *	           "stacks_refused" }, "mapped": { "now", "refused" }
 */
void status_memory(cJSON *entry, const struct services *services, enum probe probe,
		   const struct engine_stats *stats);

/*
 * Adds to the entry of a process that is wanted for mem_glibc:
 *
 *	"allocator": { "kind", "file", "state", "points", "single_stepped", "why" }
 */
void status_allocator(cJSON *entry, const struct services *services, const struct target *target);
