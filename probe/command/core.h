/* SPDX-License-Identifier: GPL-2.0-only */
/* What every command that profiles stands on: the loop, the workers, the engine. */
#pragma once

#include "engine/engine.h"

#define HOST_NAME_BYTES 256 /* with the NUL */

struct core {
	struct loop *loop;
	struct worker *urgent, *foreign, *bulk, *lines, *names;
	struct engine *engine;
	char host[HOST_NAME_BYTES];
};

/* Negative errno: what was made is there for core_done(). */
int core_init(struct core *core, const struct tracer_sizes *sizes);

/* Has the loop's thread, the caller, run before others, as the urgent worker does. What it forks
 * from then on inherits that. */
void core_be_prompt(void);

/* First half of the end: no job runs any more, and what was done has been told. */
void core_quiet(struct core *core);

/* Second half, when all that uses the engine has gone. */
void core_done(struct core *core);
