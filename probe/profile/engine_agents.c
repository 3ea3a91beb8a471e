// SPDX-License-Identifier: GPL-2.0-only
/* Agents in Java VMs: which targets have one. */
#include "profile/engine_state.h"

void engine_set_agents(struct engine *engine, bool on, uint64_t interval_ns)
{
	agents_set(engine->agents, on, interval_ns);
}

void engine_agent_state(const struct engine *engine, const struct target *target, char *to,
			size_t bytes)
{
	agents_state(engine->agents, target, to, bytes);
}

void engine_agents_stats(const struct engine *engine, struct agents_stats *stats)
{
	agents_stats(engine->agents, stats);
}

void engine_meet_agent(struct engine *engine, const struct stack *stack)
{
	struct target *target = target_table_find(targets_table(engine->targets), stack->key.tgid,
						  stack->target_id);

	if (target && !target->rejected)
		agents_meet(engine->agents, target);
}

static bool is_wanted(void *arg, const struct target *target)
{
	const struct engine *engine = arg;

	for (uint32_t probe = 0; probe < PROBE_COUNT; probe++) {
		if (targets_subscribers(engine->targets, target, probe))
			return true;
	}
	return false;
}

void engine_sweep_agents(struct engine *engine)
{
	agents_sweep(engine->agents, is_wanted, engine);
}
