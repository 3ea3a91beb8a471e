// SPDX-License-Identifier: GPL-2.0-or-later
/* THE LIST of all rows: each owner's table, and where its statistics are. */
#include "api/metrics/metrics.h"

#include <pthread.h>
#include <string.h>

#include "api/metrics/metrics_lines.h"
#include "api/metrics/process_choice.h"
#include "base/cleanup.h"

#define OWNER(measures, member)                                                                    \
	{                                                                                          \
		&(measures), offsetof(struct figures, member)                                      \
	}
#define OWNER_OF_ALL(measures)                                                                     \
	{                                                                                          \
		&(measures), 0                                                                     \
	}

static const struct metrics_owner rooms[] = {
	OWNER_OF_ALL(state_measures),
	OWNER(probe_measures, probes),
	OWNER_OF_ALL(loss_measures),
	OWNER(probe_loss_measures, probes),
	OWNER(drain_measures, engine.drain),
	OWNER(engine_measures, engine),
	OWNER(target_measures, engine.targets),
	OWNER(job_measures, engine),
	OWNER(loop_measures, engine.loop),
	OWNER(container_measures, engine.containers),
	OWNER(target_container_measures, engine.targets),
	OWNER(symbol_measures, engine.files),
	OWNER(session_measures, files),
	OWNER(cleaner_measures, files.cleaned),
	OWNER(history_measures, history),
	OWNER_OF_ALL(anomaly_measures),
	OWNER_OF_ALL(process_anomaly_measures),
	OWNER(trigger_measures, files.trigger),
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
	OWNER_OF_ALL(process_cost_measures),
	OWNER_OF_ALL(container_cost_measures),
	OWNER_OF_ALL(node_cost_measures),
	OWNER_OF_ALL(daemon_measures),
	OWNER_OF_ALL(standard_measures),
};

/* Those of the rooms, and those of the probes behind them. */
static struct metrics_owner owners[ARRAY_SIZE(rooms) + PROBE_COUNT];
static size_t owners_count;
static pthread_once_t owners_made = PTHREAD_ONCE_INIT;

static void make_owners(void)
{
	sched_measures_make();
	memcpy(owners, rooms, sizeof(rooms));
	owners_count = ARRAY_SIZE(rooms);
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct measures *its = kind_get(i)->measures;

		if (!its || i > PROBE_SLOT_FIRST) /* all slots have one table */
			continue;
		size_t at = its->scope == OF_EACH ? 0 : (size_t)i * sizeof(union kind_stats);
		owners[owners_count++] =
			(struct metrics_owner){its, offsetof(struct figures, engine.own) + at};
	}
}

const struct metrics_owner *metrics_owners(size_t *count)
{
	pthread_once(&owners_made, make_owners);
	*count = owners_count;
	return owners;
}

void metrics_write(const struct services *services, const struct caller *caller, bool is_open,
		   struct answer *answer)
{
	size_t count;
	const struct metrics_owner *all = metrics_owners(&count);
	_cleanup_(process_choice_done) struct process_choice processes = {0};
	_cleanup_(last_costs_done) struct last_costs costs = {0};
	struct figures figures;

	answer->status = 200;
	answer->content_type = "text/plain; version=0.0.4; charset=utf-8";
	engine_refresh(services->engine);
	metrics_watch(services);
	figures_read(&figures, services);
	if (caller->role >= ROLE_READ)
		process_choice_make(&processes, services);
	if (caller->role >= ROLE_READ)
		accounting_last(services->accounting, (size_t)services->process_metrics, &costs);
	figures.exemplars = is_open;
	figures.processes = &processes;
	figures.costs = &costs;
	for (size_t i = 0; i < count; i++) {
		const struct measures *measures = all[i].measures;

		if (measures->scope != OF_PROCESS || caller->role >= ROLE_READ)
			measures_lines(&answer->body, measures, (const char *)&figures + all[i].at);
	}
}

void metrics_describe(struct buf *out)
{
	size_t count;
	const struct metrics_owner *all = metrics_owners(&count);

	for (size_t i = 0; i < count; i++)
		measures_list(out, all[i].measures, i ? all[i - 1].measures : NULL);
}
