// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/arming.h"

#define LOOK_EVERY_NS NS_PER_MS

static void check_waits(void *arg)
{
	struct arming *arming = arg;
	uint64_t now_ns = loop_now_ns();
	bool is_arming = arming->is_arming(arming->arg);

	for (size_t i = arming->count; i-- > 0;) {
		struct arming_wait wait = arming->waits[i];

		if (is_arming && now_ns < wait.until_ns)
			continue;
		arming->waits[i] = arming->waits[--arming->count];
		wait.done(wait.arg);
		i = arming->count; /* done() may have changed the waits */
	}
	if (arming->count)
		loop_timer_set(arming->loop, &arming->timer, now_ns + LOOK_EVERY_NS);
}

void arming_init(struct arming *arming, struct loop *loop, bool (*is_arming)(void *arg), void *arg)
{
	*arming = (struct arming){
		.loop = loop,
		.is_arming = is_arming,
		.arg = arg,
		.timer = {.expired = check_waits, .arg = arming, .name = "arming"},
	};
}

void arming_done(struct arming *arming)
{
	if (arming->loop)
		loop_timer_cancel(arming->loop, &arming->timer);
	arming->count = 0;
}

bool arming_wait(struct arming *arming, uint64_t wait_ns, void (*done)(void *arg), void *arg)
{
	uint64_t now_ns = loop_now_ns();

	if (arming->count == ARMING_WAITS_MAX || !arming->is_arming(arming->arg))
		return false;
	arming->waits[arming->count++] = (struct arming_wait){done, arg, now_ns + wait_ns};
	loop_timer_set(arming->loop, &arming->timer, now_ns + LOOK_EVERY_NS);
	return true;
}

void arming_forget(struct arming *arming, const void *arg)
{
	for (size_t i = arming->count; i-- > 0;) {
		if (arming->waits[i].arg == arg)
			arming->waits[i] = arming->waits[--arming->count];
	}
}
