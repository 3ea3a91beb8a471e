// SPDX-License-Identifier: GPL-2.0-or-later
/* Source of the names, and of what there is without `seconds`: Go's net/http/pprof. */
#include "api/resource/debug_pprof.h"

#include <string.h>

#include "api/resource/flamegraph.h"
#include "base/cleanup.h"

static const struct pprof_page {
	const char *name;
	const char *resource; /* resource of /flamegraph */
	const char *view;     /* NULL: its first view */
	long long seconds;    /* default; 0: what the configured probe has */
	const char *words;    /* text in the index */
} pages[] = {
	{"profile", "oncpu.pb.gz", NULL, 30, "CPU time, sampled for seconds=N (30)"},
	{"offcpu", "offcpu.pb.gz", NULL, 30, "time blocked, seen for seconds=N (30)"},
	{"heap", "mem_glibc.pb.gz", "inuse", 0,
	 "memory that is in use: of what was allocated for seconds=N, or since the probe mem_glibc "
	 "runs"},
	{"allocs", "mem_glibc.pb.gz", NULL, 0,
	 "memory that was allocated, for seconds=N, or since the probe mem_glibc has written "
	 "files"},
};

static void write_index(struct answer *answer)
{
	struct buf *out = &answer->body;

	answer->status = 200;
	answer->content_type = "text/html; charset=utf-8";
	buf_str(out, "<!DOCTYPE html>\n<title>stackprobe: /debug/pprof/</title>\n"
		     "<h1>/debug/pprof/</h1>\n"
		     "<p>Profiles in pprof's format, of the process pid=P, or of those that are "
		     "selected.</p>\n<ul>\n");
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		buf_printf(out, "<li><a href=\"/debug/pprof/%s\">%s</a>: %s</li>\n", pages[i].name,
			   pages[i].name, pages[i].words);
	buf_str(out, "</ul>\n");
}

/* Returns the page of that name, or NULL. */
static const struct pprof_page *find_page(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		if (strcmp(name, pages[i].name) == 0)
			return &pages[i];
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
	const struct pprof_page *page = find_page(name);

	need->role = ROLE_READ;
	if (page) {
		struct query wanted = query_of(page, query);

		flamegraph_need(page->resource, &wanted, need);
	}
}

void debug_pprof_fetch(const struct services *services, const char *name, const struct query *query,
		       struct answer *answer, void (*ready)(void *arg), void *arg)
{
	const struct pprof_page *page = find_page(name);

	if (page) {
		struct query wanted = query_of(page, query);

		flamegraph_fetch(services, page->resource, &wanted, answer, ready, arg);
	} else if (!name[0]) {
		write_index(answer);
	} else {
		answer_failed(answer, 404, "url not found");
	}
}
