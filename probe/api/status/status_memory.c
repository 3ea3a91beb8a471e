// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_memory.h"

#include <string.h>

#include "api/status/status.h"
#include "alloc/allocator_kind.h"
#include "probes/tracer_memory.h"

static const char *const state_names[] = {
	[ALLOCATOR_UNKNOWN] = "unknown",
	[ALLOCATOR_PROBED] = "probed",
	[ALLOCATOR_UNSUPPORTED] = "unsupported",
	[ALLOCATOR_FAILED] = "failed",
};

/* Cost of a call of a probed function, by how its return is probed: measured on one machine
 * (doc/memory.md), for the ratio. */
static const struct {
	const char *way, *targets, *bystanders;
} prices[] = {
	[false] = {"return probes",
		   "each call: one trap at its entry, one at its return (about 1 us)",
		   "each call, in every process that has the file mapped: the same two traps"},
	[true] = {"session",
		  "each call: one trap (about 0.4 us); one that is sampled: its return and its "
		  "stack, too",
		  "each call, in every process that has the file mapped: the same trap"},
};

static void add_held(cJSON *to, const struct tracer *tracer, const struct live_heap_stats *stats)
{
	cJSON *held = cJSON_AddObjectToObject(to, "held");
	cJSON *mapped = cJSON_AddObjectToObject(to, "mapped");

	cJSON_AddNumberToObject(held, "now", (double)stats->entries);
	cJSON_AddNumberToObject(held, "max", tracer_held_max(tracer));
	cJSON_AddNumberToObject(held, "unnamed", (double)stats->unnamed);
	cJSON_AddNumberToObject(held, "young", (double)stats->young);
	cJSON_AddNumberToObject(held, "refused", (double)stats->refused);
	cJSON_AddNumberToObject(held, "unread", (double)stats->failed);
	cJSON_AddNumberToObject(held, "stacks", (double)stats->stack_cache.stacks);
	cJSON_AddNumberToObject(held, "stacks_refused", (double)stats->stack_cache.refused);
	cJSON_AddNumberToObject(mapped, "now", (double)stats->ranges);
	cJSON_AddNumberToObject(mapped, "refused", (double)stats->ranges_refused);
}

static void add_calls(cJSON *entry, const struct tracer *tracer, const struct engine_stats *stats)
{
	const struct allocators_stats *points = &stats->allocators;

	cJSON_AddNumberToObject(entry, "files", points->files);
	cJSON_AddNumberToObject(entry, "points", points->points);
	cJSON_AddNumberToObject(entry, "single_stepped", points->stepped);
	if (points->points) {
		cJSON_AddStringToObject(entry, "way", prices[points->session].way);
		cJSON_AddStringToObject(entry, "targets_pay", prices[points->session].targets);
		cJSON_AddStringToObject(entry, "bystanders_pay",
					prices[points->session].bystanders);
	}
	add_held(entry, tracer, &stats->live_heap);
}

void status_memory(cJSON *entry, const struct services *services, enum probe probe,
		   const struct engine_stats *stats)
{
	const struct tracer *tracer = engine_tracer(services->engine);

	if (probe == PROBE_MEM)
		cJSON_AddStringToObject(entry, "unseen", tracer_faults_limit(tracer));
	else if (probe == PROBE_MEM_GLIBC)
		add_calls(entry, tracer, stats);
}

void status_allocator(cJSON *to, const struct services *services, const struct target *target)
{
	struct allocator_view view;

	if (!(target->match.probes & 1u << PROBE_MEM_GLIBC))
		return;
	engine_allocator(services->engine, target, &view);
	cJSON *entry = cJSON_AddObjectToObject(to, "allocator");
	cJSON_AddStringToObject(entry, "kind", allocator_name(view.kind));
	status_add_text(entry, "file", view.file, strlen(view.file));
	cJSON_AddStringToObject(entry, "state", state_names[view.state]);
	cJSON_AddNumberToObject(entry, "points", view.points);
	cJSON_AddNumberToObject(entry, "single_stepped", view.stepped);
	status_add_text(entry, "why", view.why, strlen(view.why));
}
