// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/figures.h"

#include <string.h>

#include "hooks/tracer_memory.h"

static void read_probe(struct figures *figures, enum probe probe)
{
	const struct engine_stats *engine = &figures->engine;
	struct probe_figures *one = &figures->probes[probe];

	one->samples = engine->samples[probe];
	one->thinned = engine->thinned[probe];
	for (int i = 0; i < LOST_COUNT; i++)
		one->lost[i] = engine_stats_lost(engine, probe, i);
	memcpy(one->truncated, engine->drain.truncated[probe], sizeof(one->truncated));
	for (int i = 0; i < TRUNCATED_COUNT; i++)
		figures->truncated[i] += one->truncated[i];
}

static void count_runtimes(void *arg, const struct target *target)
{
	struct figures *figures = arg;

	runtime_versions_python(&figures->python, target_interpreter(target));
	runtime_versions_java(&figures->java, target_jvm(target));
}

void figures_read(struct figures *figures, const struct services *services)
{
	const struct engine *engine = services->engine;

	memset(figures, 0, sizeof(*figures));
	figures->services = services;
	memcpy(figures->refused, services->refused, sizeof(figures->refused));
	engine_stats(engine, &figures->engine);
	session_stats(services->flamegraph, &figures->files);
	figures->history = *history_stats(services->history);
	session_uploads_status(services->flamegraph, &figures->upload);
	engine_agents_stats(engine, &figures->agents);
	engine_jfr_stats(engine, &figures->jfr);
	engine_targets(engine, count_runtimes, figures);
	figures->held_max = tracer_held_max(engine_tracer(engine));
	for (int probe = 0; probe < PROBE_COUNT; probe++)
		read_probe(figures, probe);
}
