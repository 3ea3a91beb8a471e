// SPDX-License-Identifier: GPL-2.0-only
/* Agents in Java VMs: which targets have one. */
#include "profile/engine_state.h"

#include <stdio.h>
#include <string.h>

void engine_set_java(struct engine *engine, struct subscriber *of, const struct java_wish *wish)
{
	(void)of;
	agents_set(engine->agents, wish->source == JAVA_AGENT, wish->interval_ns);
}

void engine_java_state(const struct engine *engine, const struct target *target,
		       struct java_state *state)
{
	*state = (struct java_state){.way = JAVA_NATIVE};
	agents_state(engine->agents, target, state->agent, sizeof(state->agent));
	if (strcmp(state->agent, "attached") == 0)
		state->way = JAVA_AGENT;
	snprintf(state->reason, sizeof(state->reason), "%s",
		 state->way == JAVA_AGENT ? "asked for" : "read without an agent");
}

void engine_agent_state(const struct engine *engine, const struct target *target, char *to,
			size_t bytes)
{
	agents_state(engine->agents, target, to, bytes);
}

void engine_jfr_stats(const struct engine *engine, struct jfr_stats *stats)
{
	(void)engine;
	*stats = (struct jfr_stats){0};
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
