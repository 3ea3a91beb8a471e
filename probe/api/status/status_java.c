// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_java.h"

#include "api/request/param.h"
#include "api/status/status_codes.h"
#include "runtime/jvm.h"

struct java_counts {
	unsigned processes, unsupported;
};

static void count(void *arg, const struct target *target)
{
	struct java_counts *counts = arg;

	if (!target_jvm(target))
		return;
	counts->processes++;
	counts->unsupported += !jvm_is_supported(target_jvm(target));
}

void status_java_vm(cJSON *to, const struct services *services, const struct target *target)
{
	struct java_state state;

	if (!target_jvm(target))
		return;
	engine_java_state(services->engine, target, &state);
	cJSON_AddStringToObject(to, "java_source", java_source_name(state.way));
	cJSON_AddStringToObject(to, "java_reason", state.reason);
	cJSON_AddStringToObject(to, "java_agent", state.agent);
}

static void add_agents(cJSON *java, const struct services *services)
{
	cJSON *to = cJSON_AddObjectToObject(java, "agents");
	struct agents_stats agents;

	engine_agents_stats(services->engine, &agents);
	cJSON_AddNumberToObject(to, "attached", agents.attached);
	cJSON_AddNumberToObject(to, "attaching", agents.attaching);
	cJSON_AddNumberToObject(to, "failed", agents.failed);
	cJSON_AddNumberToObject(to, "codes", (double)agents.codes);
	cJSON_AddNumberToObject(to, "given", (double)agents.given);
	cJSON_AddNumberToObject(to, "lost", (double)agents.lost);
	cJSON_AddNumberToObject(to, "unasked", (double)agents.unasked);
}

static void add_jfr(cJSON *java, const struct services *services)
{
	cJSON *to = cJSON_AddObjectToObject(java, "jfr");
	struct jfr_stats jfr;

	engine_jfr_stats(services->engine, &jfr);
	cJSON_AddNumberToObject(to, "recording", jfr.recording);
	cJSON_AddNumberToObject(to, "starting", jfr.starting);
	cJSON_AddNumberToObject(to, "failed", jfr.failed);
	cJSON_AddNumberToObject(to, "windows", (double)jfr.windows);
	cJSON_AddNumberToObject(to, "fell_back", (double)jfr.fell_back);
	cJSON *causes = cJSON_AddObjectToObject(to, "fell_back_by");
	for (int i = 0; i < JFR_CAUSES; i++)
		cJSON_AddNumberToObject(causes, jfr_cause_name(i), (double)jfr.fell_back_by[i]);
	cJSON_AddNumberToObject(to, "lost_samples", (double)jfr.lost_samples);
	cJSON_AddNumberToObject(to, "lost_bytes", (double)jfr.lost_bytes);
	cJSON_AddNumberToObject(to, "refused", (double)jfr.refused);
	cJSON_AddNumberToObject(to, "unasked", (double)jfr.unasked);
}

void status_java(cJSON *to, const struct services *services, const struct engine_stats *stats)
{
	cJSON *java = cJSON_AddObjectToObject(to, "java");
	struct java_counts counts = {0};

	engine_targets(services->engine, count, &counts);
	cJSON_AddNumberToObject(java, "processes", counts.processes);
	cJSON_AddNumberToObject(java, "unsupported", counts.unsupported);
	status_codes(java, "methods", &stats->codes[CODES_JAVA]);
	cJSON_AddNumberToObject(java, "inline_unknown", (double)stats->drain.inline_unknown);
	cJSON_AddNumberToObject(java, "untold", (double)stats->drain.untold);
	add_agents(java, services);
	add_jfr(java, services);
}
