// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_length.h"

#include <stdlib.h>

#include "base/clock.h"

#define STEP_NS (5 * NS_PER_S)	/* less is no setting */
#define LATE_NS (60 * NS_PER_S) /* a window of before may be looked at so late */

uint64_t history_lasted_ns(struct history_clock *clock, int64_t real_ns, uint64_t now_ns,
			   uint64_t began_ns)
{
	int64_t offset = real_ns - (int64_t)now_ns;

	if (llabs(offset - clock->offset) > (int64_t)STEP_NS) {
		clock->offset = offset;
		clock->set_ns = now_ns;
	}
	return clock->set_ns && clock->set_ns + LATE_NS >= began_ns ? now_ns - began_ns
								    : HISTORY_NOT_SET;
}

uint64_t history_length_ns(int64_t from, int64_t until, uint64_t lasted_ns)
{
	uint64_t length = until > from ? (uint64_t)(until - from) : 0;

	return length > STEP_NS && length - STEP_NS > lasted_ns ? lasted_ns : length;
}
