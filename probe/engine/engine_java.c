// SPDX-License-Identifier: GPL-2.0-or-later
/* Java VMs: how the stacks of each are taken, and which VMs are asked for what. */
#include "engine/engine_state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "java/attach/attach.h"
#include "runtime/jvm.h"
#include "kind/kind.h"

#define UNREADABLE "its tables can't be read"

/* ---- ways ---- */

/* Returns whether only the agent can name its frames: the VM's tables can't be read. */
static bool is_unreadable(const struct jvm *jvm)
{
	return jvm->runtime.error && jvm->runtime.error != -EAGAIN;
}

/* Returns whether some VMs may be asked to record. */
static bool may_record(const struct engine *engine)
{
	enum java_source source = engine->java.source;

	return engine->java_of && engine->java.jfr_fits && attach_has_jfr() &&
	       (source == JAVA_JFR || source == JAVA_AUTO);
}

/* Returns whether a target's VM is to record for the feature; the recording may have failed. */
static bool is_for_jfr(const struct engine *engine, const struct target *target)
{
	return target_jvm(target) && may_record(engine) &&
	       (engine->java.source == JAVA_JFR || is_unreadable(target_jvm(target)));
}

static bool has_failed(const struct engine *engine, const struct target *target)
{
	return jfr_state(engine->jfr, target, NULL) == JFR_FAILED;
}

static bool is_for_agent(const struct engine *engine, const struct target *target)
{
	if (!target_jvm(target) || engine->java.source != JAVA_AUTO)
		return engine->java.source == JAVA_AGENT;
	return is_unreadable(target_jvm(target)) &&
	       (!is_for_jfr(engine, target) || has_failed(engine, target));
}

static struct jfr_wish jfr_wish_of(const struct engine *engine)
{
	const struct java_wish *wish = &engine->java;

	return (struct jfr_wish){
		.probes = may_record(engine) ? subscriber_probes(engine->java_of) & kinds_recorded()
					     : 0,
		.period_ms = (uint32_t)((engine->sampling.period_ns + NS_PER_MS / 2) / NS_PER_MS),
		.interval_ns = wish->interval_ns,
	};
}

/* Sets what is recorded from what is sampled. */
static void set_jfr(struct engine *engine)
{
	struct jfr_wish wish = jfr_wish_of(engine);

	jfr_set(engine->jfr, &wish);
}

/* ---- whom ---- */

/* Returns the probes for which `of` wants a target's stacks. */
static uint32_t probes_for(const struct engine *engine, const struct subscriber *of,
			   const struct target *target)
{
	uint32_t probes = 0;

	for (uint32_t probe = 0; probe < PROBE_COUNT; probe++) {
		if (targets_subscribers(engine->targets, target, probe) & 1U << of->number)
			probes |= 1U << probe;
	}
	return probes;
}

static bool is_to_have_agent(void *arg, const struct target *target)
{
	const struct engine *engine = arg;

	for (uint32_t probe = 0; probe < PROBE_COUNT; probe++) {
		if (targets_subscribers(engine->targets, target, probe))
			return is_for_agent(engine, target);
	}
	return false;
}

static bool is_to_record(void *arg, const struct target *target)
{
	const struct engine *engine = arg;

	return is_for_jfr(engine, target) &&
	       probes_for(engine, engine->java_of, target) & kinds_recorded();
}

void engine_meet_java(struct engine *engine, const struct stack *stack)
{
	struct target *target = target_table_find(targets_table(engine->targets), stack->key.tgid,
						  stack->target_id);

	if (!target || target->state == TARGET_REJECTED || !target_jvm(target))
		return;
	/* Agent and recording use the same folder, so one starts when the other has gone. */
	if (is_for_agent(engine, target) && !jfr_has(engine->jfr, target))
		agents_meet(engine->agents, target);
	if (is_to_record(engine, target) && !agents_has(engine->agents, target))
		jfr_meet(engine->jfr, target);
}

void engine_sweep_java(struct engine *engine)
{
	agents_sweep(engine->agents, is_to_have_agent, engine);
	set_jfr(engine);
	jfr_sweep(engine->jfr, is_to_record, engine);
}

void engine_set_java(struct engine *engine, struct subscriber *of, const struct java_wish *wish)
{
	engine->java = *wish;
	engine->java_of = of;
	agents_set(engine->agents, wish->source == JAVA_AGENT || wish->source == JAVA_AUTO,
		   wish->interval_ns);
	engine_sweep_java(engine);
}

/* ---- windows ---- */

void engine_drain_soon(void *arg)
{
	const struct engine *engine = arg;

	drain_soon(engine->drain);
}

bool engine_ask_others(void *arg, uint64_t ended_ns, void (*done)(void *arg), void *done_arg)
{
	struct engine *engine = arg;

	return jfr_end_window(engine->jfr, ended_ns, done, done_arg);
}

uint32_t engine_told_by_others(void *arg, const struct target *target, enum probe probe)
{
	const struct engine *engine = arg;

	if (!engine->java_of || !(jfr_recorded(engine->jfr, target) & 1U << probe))
		return 0;
	return 1U << engine->java_of->number;
}

struct java_adding {
	struct engine *engine;
	struct batch *batch;
};

static void add_recorded(void *arg, const struct target *target, uint32_t probe,
			 struct jfrfile *file)
{
	const struct java_adding *adding = arg;
	const struct subscriber *of = adding->engine->java_of;

	if (!of || !(probes_for(adding->engine, of, target) & 1U << probe)) {
		jfrfile_free(file); /* neither it nor the kernel's stacks are wanted any more */
		return;
	}
	uint64_t events = jfrfile_events(file);
	if (batch_add_recorded(adding->batch, target, probe, 1U << of->number, file) == 0)
		return;
	log_error("no memory for what a Java VM has recorded: it is lost");
	jfr_refuse(adding->engine->jfr, events);
}

void engine_add_recorded(struct engine *engine, struct batch *batch)
{
	struct java_adding adding = {engine, batch};

	jfr_take(engine->jfr, add_recorded, &adding);
}

/* ---- what is told ---- */

void engine_agents_stats(const struct engine *engine, struct agents_stats *stats)
{
	agents_stats(engine->agents, stats);
}

__attribute__((format(printf, 3, 4))) static void
tell(struct java_state *state, enum java_source way, const char *format, ...)
{
	va_list args;

	state->way = way;
	va_start(args, format);
	vsnprintf(state->reason, sizeof(state->reason), format, args);
	va_end(args);
}

/* Fills in the state of a VM that is to record. */
static void tell_jfr(const struct engine *engine, const struct target *target,
		     struct java_state *state)
{
	struct why why;
	enum jfr_step step = jfr_state(engine->jfr, target, &why);

	if (step == JFR_RECORDING)
		tell(state, JAVA_JFR, "%s",
		     engine->java.source == JAVA_JFR ? "asked for" : UNREADABLE);
	else if (step == JFR_FAILED)
		tell(state, JAVA_NATIVE, "JFR: %s", why.text);
	else
		tell(state, JAVA_NATIVE, "JFR: starting");
}

static void tell_agent(const struct engine *engine, struct java_state *state)
{
	if (strcmp(state->agent, "attached") != 0)
		tell(state, JAVA_NATIVE, "agent: %.*s", JAVA_REASON_BYTES - 10, state->agent);
	else
		tell(state, JAVA_AGENT, "%s",
		     engine->java.source == JAVA_AGENT ? "asked for" : UNREADABLE);
}

static void tell_native(const struct engine *engine, const struct target *target,
			struct java_state *state)
{
	char problem[96];

	jvm_problem(target_jvm(target), problem, sizeof(problem));
	if (engine->java.source == JAVA_NATIVE)
		tell(state, JAVA_NATIVE, "asked for");
	else
		tell(state, JAVA_NATIVE, "%s", problem[0] ? problem : "read without an agent");
}

void engine_java_state(const struct engine *engine, const struct target *target,
		       struct java_state *state)
{
	*state = (struct java_state){.way = JAVA_NATIVE};
	agents_state(engine->agents, target, state->agent, sizeof(state->agent));
	if (!target_jvm(target))
		tell(state, JAVA_NATIVE, "no Java VM is known in it");
	else if (is_for_agent(engine, target))
		tell_agent(engine, state);
	else if (is_for_jfr(engine, target))
		tell_jfr(engine, target, state);
	else
		tell_native(engine, target, state);
}

void engine_jfr_stats(const struct engine *engine, struct jfr_stats *stats)
{
	struct jfr_counts counts;

	jfr_counts(engine->jfr, &counts);
	*stats = (struct jfr_stats){
		.recording = counts.recording,
		.starting = counts.starting,
		.failed = counts.failed,
		.windows = counts.windows,
		.lost_samples = counts.lost_samples,
		.lost_bytes = counts.lost_bytes,
		.refused = counts.refused,
		.unasked = counts.unasked,
	};
	for (int i = 0; i < JFR_CAUSES; i++) {
		stats->fell_back_by[i] = counts.fell_back[i];
		stats->fell_back += counts.fell_back[i];
	}
}
