// SPDX-License-Identifier: GPL-2.0-only
#include "api/status_java.h"

#include "api/status_codes.h"
#include "proc/attach.h"
#include "profile/jvm.h"

struct java_counts {
	unsigned processes, unsupported;
};

static void count(void *arg, const struct target *target)
{
	struct java_counts *counts = arg;

	if (!target->jvm)
		return;
	counts->processes++;
	counts->unsupported += !jvm_is_supported(target->jvm);
}

void status_agent(cJSON *to, const struct services *services, const struct target *target)
{
	char text[ATTACH_TEXT_BYTES + 64];

	if (!target->jvm)
		return;
	engine_agent_state(services->engine, target, text, sizeof(text));
	cJSON_AddStringToObject(to, "java_agent", text);
}

void status_java(cJSON *to, const struct services *services, const struct engine_stats *stats)
{
	cJSON *java = cJSON_AddObjectToObject(to, "java");
	struct java_counts counts = {0};
	struct agents_stats agents;

	engine_targets(services->engine, count, &counts);
	cJSON_AddNumberToObject(java, "processes", counts.processes);
	cJSON_AddNumberToObject(java, "unsupported", counts.unsupported);
	status_codes(java, "methods", &stats->codes[CODES_JAVA]);
	cJSON_AddNumberToObject(java, "inline_unknown", (double)stats->drain.inline_unknown);
	cJSON_AddNumberToObject(java, "untold", (double)stats->drain.untold);
	engine_agents_stats(services->engine, &agents);
	cJSON *told = cJSON_AddObjectToObject(java, "agents");
	cJSON_AddNumberToObject(told, "attached", agents.attached);
	cJSON_AddNumberToObject(told, "attaching", agents.attaching);
	cJSON_AddNumberToObject(told, "failed", agents.failed);
	cJSON_AddNumberToObject(told, "codes", (double)agents.codes);
	cJSON_AddNumberToObject(told, "given", (double)agents.given);
	cJSON_AddNumberToObject(told, "lost", (double)agents.lost);
}
