/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every command that profiles needs: the loop, the workers, the engine; made and ended in the
 * right order. Main thread only, which runs the loop. */
#pragma once

#include "engine/engine.h"

#define HOST_NAME_BYTES 256 /* with the NUL */

struct core {
	struct loop *loop;
	struct worker *urgent, *foreign, *bulk, *lines, *names, *loads;
	struct engine *engine;
	char host[HOST_NAME_BYTES];
};

/* Makes the loop, the workers and the engine; `core` is zeroed before. Returns 0, or a negative
 * errno; core_done() is to be called also then. */
int core_init(struct core *core, const struct tracer_sizes *sizes);

/* Raises the priority of the calling thread, which runs the loop, to that of the urgent worker.
 * Children that it forks from then on inherit the priority; workers' threads don't (loop_nice()).
 */
void core_be_prompt(void);

/* First half of the end: stops the workers and delivers the results of their jobs. */
void core_quiet(struct core *core);

/* Second half of the end: frees all, when nothing uses the engine any more. */
void core_done(struct core *core);
