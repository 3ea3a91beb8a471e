// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_memory.h"

#include "alloc/allocator_kind.h"
#include "kernel/tracer.h"

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

static void add_calls(struct json *json, const struct figures *figures)
{
	const struct engine_stats *stats = &figures->engine;
	const struct allocators_stats *points = &stats->allocators;

	measures_json(json, &allocator_measures, points);
	if (points->points) {
		json_text(json, "way", prices[points->session].way);
		json_text(json, "targets_pay", prices[points->session].targets);
		json_text(json, "bystanders_pay", prices[points->session].bystanders);
	}
	json_object(json, "held");
	measures_json(json, &held_measures, figures);
	measures_json(json, &heap_measures, &stats->live_heap);
	json_object_end(json);
	measures_json_object(json, &range_measures, &stats->live_heap);
}

void status_memory(struct json *json, const struct figures *figures, enum probe probe)
{
	const struct tracer *tracer = engine_tracer(figures->services->engine);
	const struct kind *kind = kind_get(probe);
	char unseen[KIND_UNSEEN_BYTES];

	if (kind_unseen(kind, tracer_ktypes(tracer), unseen))
		json_text(json, "unseen", unseen);
	if (kind->holds)
		add_calls(json, figures);
}

void status_allocator(struct json *json, const struct services *services,
		      const struct target *target)
{
	struct allocator_view view;

	if (!(target->match.probes & 1u << kind_of_heap()))
		return;
	engine_allocator(services->engine, target, &view);
	json_object(json, "allocator");
	json_text(json, "kind", allocator_name(view.kind));
	json_name(json, "file", view.file);
	json_text(json, "state", state_names[view.state]);
	json_numbers(json, {"points", view.points}, {"single_stepped", view.stepped});
	json_name(json, "why", view.why);
	json_object_end(json);
}
