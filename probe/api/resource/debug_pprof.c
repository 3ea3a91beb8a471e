// SPDX-License-Identifier: GPL-2.0-or-later
/* Source of the names, and of what there is without `seconds`: Go's net/http/pprof. */
#include "api/resource/debug_pprof.h"

#include <stdio.h>
#include <string.h>

#include "api/resource/flamegraph.h"
#include "kind/kind.h"

#define RESOURCE_BYTES 64

static void write_index(struct answer *answer)
{
	struct buf *out = &answer->body;

	answer->status = 200;
	answer->content_type = "text/html; charset=utf-8";
	buf_str(out, "<!DOCTYPE html>\n<title>stackprobe: /debug/pprof/</title>\n"
		     "<h1>/debug/pprof/</h1>\n"
		     "<p>Profiles in pprof's format, of the process pid=P, or of those that are "
		     "selected.</p>\n<ul>\n");
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		const struct pprof_page *page = kind_get(probe)->pages;

		for (; page && page->name; page++)
			buf_printf(out, "<li><a href=\"/debug/pprof/%s\">%s</a>: %s</li>\n",
				   page->name, page->name, page->words);
	}
	buf_str(out, "</ul>\n");
}

/*
 * Returns the page of that name, and writes the resource of /flamegraph that it shows; or NULL.
 */
static const struct pprof_page *find_page(const char *name, char resource[RESOURCE_BYTES])
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		const struct pprof_page *page = kind_get(probe)->pages;

		for (; page && page->name; page++) {
			if (strcmp(name, page->name) != 0)
				continue;
			snprintf(resource, RESOURCE_BYTES, "%s.pb.gz", kind_get(probe)->name);
			return page;
		}
	}
	return NULL;
}

/* Makes the query for the resource of /flamegraph that a page shows. */
static struct query query_of(const struct pprof_page *page, const struct query *query)
{
	struct query wanted = *query;

	wanted.view = page->view;
	if (wanted.seconds == QUERY_NONE && page->seconds)
		wanted.seconds = page->seconds;
	return wanted;
}

void debug_pprof_need(const char *name, const struct query *query, struct need *need)
{
	char resource[RESOURCE_BYTES];
	const struct pprof_page *page = find_page(name, resource);

	need->role = ROLE_READ;
	if (page) {
		struct query wanted = query_of(page, query);

		flamegraph_need(resource, &wanted, need);
	}
}

void debug_pprof_fetch(const struct services *services, const char *name, const struct query *query,
		       struct answer *answer, void (*ready)(void *arg), void *arg)
{
	char resource[RESOURCE_BYTES];
	const struct pprof_page *page = find_page(name, resource);

	if (page) {
		struct query wanted = query_of(page, query);

		flamegraph_fetch(services, resource, &wanted, answer, ready, arg);
	} else if (!name[0]) {
		write_index(answer);
	} else {
		answer_failed(answer, 404, "url not found");
	}
}
