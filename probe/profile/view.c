// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/view.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <strings.h>

#include "kind/kind.h"

static struct view_row all[PROBE_COUNT];
static pthread_once_t all_made = PTHREAD_ONCE_INIT;

static void make_all(void)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		const struct kind *kind = kind_get(probe);

		all[probe] =
			(struct view_row){.name = kind->views ? kind->views[VIEW_ALL].name : "all",
					  .folder = kind->name,
					  .title = kind->title,
					  .count_name = kind->count_name,
					  .event_name = kind->event_name,
					  .event_title = kind->event_title,
					  .pprof = &kind->pprof};
	}
}

const struct view_row *view_get(enum probe probe, enum view view)
{
	const struct view_row *views = kind_get(probe)->views;

	if (view != VIEW_ALL)
		return views && views[view].name ? &views[view] : NULL;
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
