// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/view.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <strings.h>

#include "probes/kind.h"

static const struct pprof_shape inuse = {
	.values = {{"inuse_objects", "count", PPROF_EVENTS},
		   {"inuse_space", "bytes", PPROF_WEIGHT}},
	.period_type = "space",
	.period_unit = "bytes",
};

static const struct view_row rows[PROBE_COUNT][VIEWS] = {
	[PROBE_MEM_GLIBC] = {[VIEW_INUSE] = {.name = "inuse",
					     .folder = "mem_glibc-inuse",
					     .title = "Memory In Use",
					     .event_name = "objects",
					     .event_title = "Objects In Use",
					     .pprof = &inuse},
			     [VIEW_MMAP] = {.name = "mmap",
					    .folder = "mem_glibc-mmap",
					    .title = "Mapped Memory",
					    .event_name = "mappings",
					    .event_title = "Mappings",
					    .pprof = &inuse}},
};

static struct view_row all[PROBE_COUNT];
static pthread_once_t all_made = PTHREAD_ONCE_INIT;

static void make_all(void)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		const struct kind *kind = kind_get(probe);

		all[probe] = (struct view_row){.name = "alloc",
					       .folder = kind->name,
					       .title = kind->title,
					       .event_name = kind->event_name,
					       .event_title = kind->event_title,
					       .pprof = &kind->pprof};
	}
}

const struct view_row *view_get(enum probe probe, enum view view)
{
	if (view != VIEW_ALL)
		return rows[probe][view].name ? &rows[probe][view] : NULL;
	pthread_once(&all_made, make_all);
	return &all[probe];
}

int view_find(enum probe probe, const char *name)
{
	bool has_views = false;

	for (int view = VIEW_ALL + 1; view < VIEWS; view++) {
		const struct view_row *row = view_get(probe, view);

		if (row && strcasecmp(row->name, name) == 0)
			return view;
		has_views = has_views || row;
	}
	return has_views && strcasecmp(view_get(probe, VIEW_ALL)->name, name) == 0 ? VIEW_ALL
										   : -ENOENT;
}
