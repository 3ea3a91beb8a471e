// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/resource/feature_table.h"

#include <string.h>
#include <strings.h>

#include "api/resource/flamegraph.h"
#include "api/processes/proc_resource.h"
#include "api/resource/puts.h"
#include "api/resource/sched_resource.h"
#include "base/cleanup.h"

static const struct feature features[] = {
	{"flamegraph", flamegraph_put, flamegraph_get, flamegraph_fetch, flamegraph_need,
	 flamegraph_save, flamegraph_restore, 0 /* its queue loads: puts.h */, flamegraph_begins},
	{"sched", sched_put, sched_get, sched_fetch, sched_need, sched_save, sched_restore,
	 WANTED_SCHED, sched_begins},
	{"proc", proc_put, proc_get, proc_fetch, proc_need, proc_save, proc_restore, WANTED_COSTS,
	 proc_begins},
};

void services_forget(const struct services *services, const void *arg)
{
	puts_forget(services->puts, arg);
	engine_forget(services->engine, arg);
}

size_t features_table(const struct feature **rows)
{
	*rows = features;
	return ARRAY_SIZE(features);
}

const struct feature *feature_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (strlen(features[i].name) == len &&
		    strncasecmp(features[i].name, name, len) == 0)
			return &features[i];
	}
	return NULL;
}
