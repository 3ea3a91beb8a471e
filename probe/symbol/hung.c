// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/hung.h"

#include "base/loop.h"

#define HUNG_NS (600 * NS_PER_S)

void hung_add(struct hung *hung, uint64_t device)
{
	unsigned at = hung->next++ % HUNG_MAX;

	hung->each[at].device = device;
	hung->each[at].until_ns = loop_now_ns() + HUNG_NS;
}

bool hung_has(const struct hung *hung, uint64_t device)
{
	uint64_t now = loop_now_ns();

	for (int i = 0; i < HUNG_MAX; i++) {
		if (hung->each[i].device == device && now < hung->each[i].until_ns)
			return true;
	}
	return false;
}
