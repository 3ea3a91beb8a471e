/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of the memory probes, beside what GET shows of all probes. */
#pragma once

#include "api/status/figures.h"

/*
 * Adds to the entry of a memory probe, and nothing to those of other probes:
 *
 *	mem:       "unseen": a sentence on memory that becomes resident without an event
 *	mem_glibc: "files", "points", "single_stepped"; while there are points also "way" (how
 *	           returns are probed) and the sentences "targets_pay", "bystanders_pay";
 *	           "held": { … }, "mapped": { … }
 */
void status_memory(struct json *json, const struct figures *figures, enum probe probe);

/*
 * Adds to the entry of a process that is wanted for mem_glibc:
 *
 *	"allocator": { "kind", "file", "state", "points", "single_stepped", "why" }
 */
void status_allocator(struct json *json, const struct services *services,
		      const struct target *target);
