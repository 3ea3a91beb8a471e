// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns off-CPU time on and off. */
#include <errno.h>

#include "hooks/tracer_sched.h"
#include "hooks/hooks_state.h"
#include "kernel/tracer_waits.h"
#include "sched.skel.h"

const struct loadable *const offcpu_loads[] = {&loadable_sched, &loadable_times, &loadable_flush,
					       &loadable_waiting, NULL};

static int begin_offcpu(struct tracer *tracer, const struct offcpu_settings *wanted)
{
	struct sched_settings *settings = tracer->settings;
	if (!tracer->waits) {
		int r = tracer_waits_load(tracer);
		if (r < 0)
			return r;
	}
	int r = tracer_sched_returns(tracer, true);
	if (r < 0)
		return r;
	if (!settings->wait_states)
		settings->wait_since_ns = loop_now_ns();
	settings->minblock_ns = wanted->minblock_ns;
	settings->maxblock_ns = wanted->maxblock_ns;
	settings->wait_split = wanted->split;
	settings->wait_depth = wanted->depth;
	__atomic_store_n(&settings->wait_states, wanted->states, __ATOMIC_SEQ_CST);
	tracer_waits_set(tracer);
	return tracer_sched_wakeups(tracer);
}

int tracer_offcpu(struct tracer *tracer, const struct offcpu_settings *settings, struct why *why)
{
	int r = tracer_sched_load(tracer, why);

	if (r < 0)
		return r;
	r = begin_offcpu(tracer, settings);
	if (r < 0) {
		tracer_explain(why, r, "off-CPU time can't be measured");
		tracer_offcpu_stop(tracer);
	}
	return r;
}

void tracer_offcpu_stop(struct tracer *tracer)
{
	if (!tracer->settings)
		return;
	tracer->settings->wait_states = 0;
	tracer_sched_returns(tracer, false);
	tracer_waits_unload(tracer);
	tracer_sched_wakeups(tracer);
	tracer_sched_release(tracer);
}
