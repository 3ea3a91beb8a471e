// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_view.h"

#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "command/command.h"
#include "kind/kind.h"

/* Adds the names of all views, each once. */
static void list_views(struct buf *to)
{
	for (int i = 0; i < PROBE_COUNT * VIEWS; i++) {
		const struct view_row *row = view_get(i / VIEWS, (enum view)(i % VIEWS));
		bool known = !row || view_find(i / VIEWS, row->name) < 0;

		for (int before = 0; before < i && !known; before++) {
			const struct view_row *other =
				view_get(before / VIEWS, (enum view)(before % VIEWS));

			known = other && strcasecmp(other->name, row->name) == 0;
		}
		if (!known)
			buf_printf(to, "%s, ", row->name);
	}
}

/* Adds the names of the probes that have the view. Returns their number. */
static unsigned list_probes(struct buf *to, const char *name)
{
	unsigned count = 0;

	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (view_find(probe, name) >= 0)
			buf_printf(to, "%s%s", count++ ? ", " : "", kind_get(probe)->name);
	}
	return count;
}

static int view_refuse(struct buf *what, const char *name)
{
	buf_char(what, '\0');
	return usage_error(buf_error(what) ? "no such view" : what->data, name);
}

int record_view_take(struct record_options *options, const char *name)
{
	_cleanup_buf_ struct buf what = BUF_INIT(1024);

	options->peak = strcasecmp(name, "peak") == 0;
	options->view_name = options->peak ? "inuse" : name;
	if (list_probes(&what, options->view_name))
		return GO_ON;
	buf_str(&what, "no such view (there are ");
	list_views(&what);
	buf_str(&what, "peak)");
	return view_refuse(&what, name);
}

int record_view_choose(struct record_options *options)
{
	_cleanup_buf_ struct buf what = BUF_INIT(1024);

	if (!options->view_name)
		return GO_ON;
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		int view = view_find(probe, options->view_name);

		if (options->probes & 1u << probe && view >= 0) {
			options->view = (enum view)view;
			return GO_ON;
		}
	}
	buf_str(&what, "this view is of ");
	list_probes(&what, options->view_name);
	return view_refuse(&what, options->view_name);
}

enum view record_view_of(const struct record_options *options, enum probe probe)
{
	int view = options->view_name ? view_find(probe, options->view_name) : VIEW_ALL;

	return view < 0 ? VIEW_ALL : (enum view)view;
}
