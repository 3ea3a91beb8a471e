// SPDX-License-Identifier: GPL-2.0-or-later
/* THE LIST of all rows: each owner's table, and where its statistics are. */
#include "api/metrics/metrics.h"

#include "api/metrics/metrics_lines.h"
#include "base/cleanup.h"

#define OWNER(measures, member)                                                                    \
	{                                                                                          \
		&(measures), offsetof(struct figures, member)                                      \
	}
#define OWNER_OF_ALL(measures)                                                                     \
	{                                                                                          \
		&(measures), 0                                                                     \
	}

static const struct metrics_owner owners[] = {
	OWNER_OF_ALL(state_measures),
	OWNER(probe_measures, probes),
	OWNER_OF_ALL(loss_measures),
	OWNER(probe_loss_measures, probes),
	OWNER_OF_ALL(offcpu_measures),
	OWNER(drain_measures, engine.drain),
	OWNER(engine_measures, engine),
	OWNER(target_measures, engine.targets),
	OWNER(job_measures, engine),
	OWNER(container_measures, engine.containers),
	OWNER(target_container_measures, engine.targets),
	OWNER(symbol_measures, engine.files),
	OWNER(session_measures, files),
	OWNER(cleaner_measures, files.cleaned),
	OWNER(unwind_measures, engine.targets.tables),
	OWNER_OF_ALL(held_measures),
	OWNER(heap_measures, engine.live_heap),
	OWNER(range_measures, engine.live_heap),
	OWNER(allocator_measures, engine.allocators),
	OWNER(python_measures, python),
	OWNER(python_code_measures, engine.codes[CODES_PYTHON]),
	OWNER(java_measures, java),
	OWNER(java_code_measures, engine.codes[CODES_JAVA]),
	OWNER(drain_java_measures, engine.drain),
	OWNER(agent_measures, agents),
	OWNER(jfr_measures, jfr),
	OWNER_OF_ALL(sched_measures),
	OWNER(sender_measures, upload.sent),
	OWNER_OF_ALL(process_measures),
	OWNER_OF_ALL(daemon_measures),
};

const struct metrics_owner *metrics_owners(size_t *count)
{
	*count = ARRAY_SIZE(owners);
	return owners;
}

void metrics_write(const struct services *services, const struct caller *caller,
		   struct answer *answer)
{
	struct figures figures;

	answer->status = 200;
	answer->content_type = "text/plain; version=0.0.4; charset=utf-8";
	engine_refresh(services->engine);
	figures_read(&figures, services);
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
		const struct measures *measures = owners[i].measures;

		if (measures->scope != OF_PROCESS || caller->role >= ROLE_READ)
			measures_lines(&answer->body, measures,
				       (const char *)&figures + owners[i].at);
	}
}

void metrics_describe(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		measures_list(out, owners[i].measures, i ? owners[i - 1].measures : NULL);
}
