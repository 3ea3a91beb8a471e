// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_java.h"

#include "session/session_params.h"
#include "api/status/status_codes.h"
#include "runtime/jvm.h"

struct java_counts {
	unsigned processes, unsupported;
};

static void count_java_process(void *arg, const struct target *target)
{
	struct java_counts *counts = arg;

	if (!target_jvm(target))
		return;
	counts->processes++;
	counts->unsupported += !jvm_is_supported(target_jvm(target));
}

void status_java_vm(struct json *json, const struct services *services, const struct target *target)
{
	struct java_state state;

	if (!target_jvm(target))
		return;
	engine_java_state(services->engine, target, &state);
	json_text(json, "java_source", java_source_name(state.way));
	json_text(json, "java_reason", state.reason);
	json_text(json, "java_agent", state.agent);
}

static void add_agents(struct json *json, const struct services *services)
{
	struct agents_stats agents;

	engine_agents_stats(services->engine, &agents);
	json_number_object(json, "agents", {"attached", agents.attached},
			   {"attaching", agents.attaching}, {"failed", agents.failed},
			   {"codes", agents.codes}, {"given", agents.given}, {"lost", agents.lost},
			   {"unasked", agents.unasked});
}

static void add_jfr(struct json *json, const struct services *services)
{
	struct jfr_stats jfr;

	engine_jfr_stats(services->engine, &jfr);
	json_object(json, "jfr");
	json_numbers(json, {"recording", jfr.recording}, {"starting", jfr.starting},
		     {"failed", jfr.failed}, {"windows", jfr.windows},
		     {"fell_back", jfr.fell_back});
	json_counts(json, "fell_back_by", 0, JFR_CAUSES, jfr_cause_name, jfr.fell_back_by);
	json_numbers(json, {"lost_samples", jfr.lost_samples}, {"lost_bytes", jfr.lost_bytes},
		     {"refused", jfr.refused}, {"unasked", jfr.unasked});
	json_object_end(json);
}

void status_java(struct json *json, const struct services *services,
		 const struct engine_stats *stats)
{
	struct java_counts counts = {0};

	engine_targets(services->engine, count_java_process, &counts);
	json_object(json, "java");
	json_numbers(json, {"processes", counts.processes}, {"unsupported", counts.unsupported});
	status_codes(json, "methods", &stats->codes[CODES_JAVA]);
	json_numbers(json, {"inline_unknown", stats->drain.inline_unknown},
		     {"untold", stats->drain.untold});
	add_agents(json, services);
	add_jfr(json, services);
	json_object_end(json);
}
