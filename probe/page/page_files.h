/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of the page, packed (gzip), as they lie in the daemon's file. Any thread. */
#pragma once

/* THE LIST: symbol, name in the URL, type. The modules are what page.html comes to need at once. */
#define PAGE_MODULES(X)                                                                            \
	X(page_api, api.js, PAGE_SCRIPT)                                                           \
	X(page_builder, builder.js, PAGE_SCRIPT)                                                   \
	X(page_colours, colours.js, PAGE_SCRIPT)                                                   \
	X(page_exports, exports.js, PAGE_SCRIPT)                                                   \
	X(page_finder, finder.js, PAGE_SCRIPT)                                                     \
	X(page_graph, graph.js, PAGE_SCRIPT)                                                       \
	X(page_main, main.js, PAGE_SCRIPT)                                                         \
	X(page_panel, panel.js, PAGE_SCRIPT)                                                       \
	X(page_probes, probes.js, PAGE_SCRIPT)                                                     \
	X(page_processes, processes.js, PAGE_SCRIPT)                                               \
	X(page_profile, profile.js, PAGE_SCRIPT)                                                   \
	X(page_scheduler, scheduler.js, PAGE_SCRIPT)                                               \
	X(page_tables, tables.js, PAGE_SCRIPT)                                                     \
	X(page_taking, taking.js, PAGE_SCRIPT)                                                     \
	X(page_timeline, timeline.js, PAGE_SCRIPT)                                                 \
	X(page_view, view.js, PAGE_SCRIPT)                                                         \
	X(page_words, words.js, PAGE_SCRIPT)
#define PAGE_FILES(X)                                                                              \
	X(page_html, page.html, "text/html; charset=utf-8")                                        \
	X(page_css, page.css, "text/css; charset=utf-8")                                           \
	X(page_icon, icon.svg, "image/svg+xml")                                                    \
	X(page_search, search.js, PAGE_SCRIPT)                                                     \
	PAGE_MODULES(X)

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>

struct page_file {
	const char *name; /* "page.css" */
	const char *content_type;
	const unsigned char *packed; /* one gzip member */
	size_t bytes;
	char etag[24]; /* of its content, with the quotes */
};

/* Fills in the file with that name. Returns whether there is one. */
bool page_file_find(const char *name, struct page_file *file);
#endif
