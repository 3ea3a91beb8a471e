// SPDX-License-Identifier: GPL-2.0-only
#include "profile/kind.h"

#include <errno.h>
#include <strings.h>

static const struct kind kinds[PROBE_COUNT] = {
	[PROBE_ONCPU] = {"oncpu", "On-CPU Time Flame Graph", "samples", true},
	[PROBE_OFFCPU] = {"offcpu", "Off-CPU Time Flame Graph", "us", false},
	[PROBE_MEM] = {"mem", "Resident Memory Growth", "bytes", false},
	[PROBE_MEM_GLIBC] = {"mem_glibc", "Memory Allocation", "bytes", false},
};

const struct kind *kind_get(enum probe probe)
{
	return &kinds[probe];
}

int kind_find(const char *name)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (strcasecmp(kinds[i].name, name) == 0)
			return i;
	}
	return -ENOENT;
}

uint32_t kinds_built(void)
{
	uint32_t mask = 0;

	for (int i = 0; i < PROBE_COUNT; i++)
		mask |= kinds[i].built ? 1u << i : 0;
	return mask;
}
