// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/core.h"

#include <sys/resource.h>
#include <unistd.h>

/* Limits of jobs before they are given up: looking at a process, reading one of its files, naming
 * and rendering. */
#define URGENT_LIMIT_NS	 (2 * NS_PER_S)
#define FOREIGN_LIMIT_NS (8 * NS_PER_S)
#define BULK_LIMIT_NS	 (8 * NS_PER_S)
#define NAMES_LIMIT_NS	 (3 * NS_PER_S) /* asking a container's runtime */
#define LOADS_LIMIT_NS	 (8 * NS_PER_S) /* of no meaning: these jobs are unlimited */

int core_init(struct core *core, const struct tracer_sizes *sizes)
{
	int r = loop_new(&core->loop);

	gethostname(core->host, sizeof(core->host) - 1);
	if (r == 0)
		r = worker_new(&core->urgent, core->loop, "urgent", URGENT_LIMIT_NS);
	if (r == 0)
		r = worker_new(&core->foreign, core->loop, "foreign", FOREIGN_LIMIT_NS);
	if (r == 0)
		r = worker_new(&core->bulk, core->loop, "bulk", BULK_LIMIT_NS);
	if (r == 0)
		r = worker_new(&core->lines, core->loop, "lines", FOREIGN_LIMIT_NS);
	if (r == 0)
		r = worker_new(&core->names, core->loop, "names", NAMES_LIMIT_NS);
	if (r == 0)
		r = worker_new(&core->loads, core->loop, "loads", LOADS_LIMIT_NS);
	if (r < 0)
		return r;
	worker_set_nice(core->urgent, WORKER_PROMPT);
	worker_set_nice(core->loads, WORKER_PROMPT);
	struct engine_setup setup = {core->loop,  core->urgent, core->foreign, core->bulk,
				     core->lines, core->names,	core->loads,   *sizes};
	return engine_new(&core->engine, &setup);
}

void core_be_prompt(void)
{
	/* If this isn't allowed, fewer short processes have names. */
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + WORKER_PROMPT);
}

void core_quiet(struct core *core)
{
	worker_stop(core->urgent);
	worker_stop(core->foreign);
	worker_stop(core->bulk);
	worker_stop(core->lines);
	worker_stop(core->names);
	worker_stop(core->loads);
	if (core->loop)
		loop_flush(core->loop);
}

void core_done(struct core *core)
{
	engine_free(core->engine);
	worker_free(core->urgent);
	worker_free(core->foreign);
	worker_free(core->bulk);
	worker_free(core->lines);
	worker_free(core->names);
	worker_free(core->loads);
	loop_free(core->loop);
}
