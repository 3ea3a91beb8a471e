// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/peak.h"

#include "base/cleanup.h"

#define LOOK_EVERY_NS NS_PER_S

void peak_compare(struct peak *peak, struct profile *profile)
{
	if (!profile || (peak->most && profile->weight <= peak->most->weight))
		return;
	profile_unref(peak->most);
	peak->most = profile_ref(profile);
	peak->most_ns = loop_now_ns() - peak->began_ns;
}

static void look_later(struct peak *peak)
{
	loop_timer_set(peak->core->loop, &peak->look, loop_now_ns() + LOOK_EVERY_NS);
}

/* A reading that fails shows nothing; the last one, which is written, says why. */
static void held_read(void *arg, int error, struct profile *profiles[VIEWS])
{
	struct peak *peak = arg;

	if (peak->ended)
		return;
	if (error == 0)
		peak_compare(peak, profiles[VIEW_INUSE]);
	look_later(peak);
}

/* The stacks of what was read so far have their names now. */
static void window_drained(void *arg)
{
	struct peak *peak = arg;
	const struct live_heap_request request = {
		.views = 1u << VIEW_INUSE,
		.filter = {.before_ns = UINT64_MAX},
		.done = held_read,
		.arg = peak,
	};

	if (!peak->ended && engine_read_held(peak->core->engine, peak->subscriber, &request) < 0)
		look_later(peak);
}

static void time_to_look(void *arg)
{
	struct peak *peak = arg;

	engine_drain(peak->core->engine, window_drained, peak);
}

void peak_begin(struct peak *peak)
{
	peak->began_ns = loop_now_ns();
	peak->look = (struct loop_timer){.expired = time_to_look, .arg = peak, .name = "peak"};
	look_later(peak);
}

void peak_end(struct peak *peak)
{
	peak->ended = true;
	if (peak->core)
		loop_timer_cancel(peak->core->loop, &peak->look);
}

void peak_done(struct peak *peak)
{
	profile_unref(TAKE_PTR(peak->most));
}
