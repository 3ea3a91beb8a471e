// SPDX-License-Identifier: GPL-2.0-only
#include "command/core.h"

#include <unistd.h>

/* Looking at a process, reading a file of its, writing a file, before it is given up. */
#define URGENT_LIMIT_NS	 (2 * NS_PER_S)
#define FOREIGN_LIMIT_NS (8 * NS_PER_S)
#define BULK_LIMIT_NS	 (8 * NS_PER_S)

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
	if (r < 0)
		return r;
	struct engine_setup setup = {core->loop, core->urgent, core->foreign, core->bulk, *sizes};
	return engine_new(&core->engine, &setup);
}

void core_quiet(struct core *core)
{
	worker_stop(core->urgent);
	worker_stop(core->foreign);
	worker_stop(core->bulk);
	if (core->loop)
		loop_flush(core->loop);
}

void core_done(struct core *core)
{
	engine_free(core->engine);
	worker_free(core->urgent);
	worker_free(core->foreign);
	worker_free(core->bulk);
	loop_free(core->loop);
}
