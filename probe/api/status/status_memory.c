// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_memory.h"

#include "api/status/status.h"
#include "alloc/allocator_kind.h"
#include "hooks/tracer_memory.h"
#include "kind/kind.h"

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

static void add_held(struct json *json, const struct tracer *tracer,
		     const struct live_heap_stats *stats)
{
	json_number_object(json, "held", {"now", stats->entries}, {"max", tracer_held_max(tracer)},
			   {"unnamed", stats->unnamed}, {"young", stats->young},
			   {"refused", stats->refused}, {"unread", stats->failed},
			   {"stacks", stats->stack_cache.stacks},
			   {"stacks_refused", stats->stack_cache.refused});
	json_number_object(json, "mapped", {"now", stats->ranges},
			   {"refused", stats->ranges_refused});
}

static void add_calls(struct json *json, const struct tracer *tracer,
		      const struct engine_stats *stats)
{
	const struct allocators_stats *points = &stats->allocators;

	json_numbers(json, {"files", points->files}, {"points", points->points},
		     {"single_stepped", points->stepped});
	if (points->points) {
		json_text(json, "way", prices[points->session].way);
		json_text(json, "targets_pay", prices[points->session].targets);
		json_text(json, "bystanders_pay", prices[points->session].bystanders);
	}
	add_held(json, tracer, &stats->live_heap);
}

void status_memory(struct json *json, const struct services *services, enum probe probe,
		   const struct engine_stats *stats)
{
	const struct tracer *tracer = engine_tracer(services->engine);

	if (kind_get(probe)->limit)
		json_text(json, "unseen", kind_get(probe)->limit(tracer));
	if (kind_get(probe)->holds)
		add_calls(json, tracer, stats);
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
