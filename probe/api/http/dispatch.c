// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/http/dispatch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/page/page_answer.h"
#include "api/resource/debug_pprof.h"
#include "api/history/history_resource.h"
#include "api/resource/state_file.h"
#include "api/metrics/metrics.h"
#include "api/metrics/metrics_pack.h"
#include "api/processes/processes_resource.h"
#include "api/resource/feature_table.h"
#include "base/cleanup.h"
#include "loop/loop.h"

static void healthz_get(const struct call *call)
{
	call->answer->status = 200;
	call->answer->content_type = "text/plain; charset=utf-8";
	buf_str(&call->answer->body, "ok\n");
}

/* Returns whether the answer may be an older one. An administrator's GET after a change has to show
 * the change. */
static bool may_be_old(const struct call *call)
{
	return call->caller->role < ROLE_ADMIN;
}

static void metrics_get(const struct call *call)
{
	bool all = call->caller->role >= ROLE_READ;
	bool is_open = metrics_are_open(call->accept);
	struct fresh *fresh = &call->services->fresh[!all      ? FRESH_METRICS
						     : is_open ? FRESH_METRICS_OPEN
							       : FRESH_METRICS_ALL];
	uint64_t began_ns = loop_now_ns();

	if (!fresh_give(fresh, may_be_old(call), call->answer)) {
		metrics_write(call->services, call->caller, is_open, call->answer);
		fresh_keep(fresh, call->answer, began_ns);
	}
	metrics_pack(call->answer, call->accept, call->accept_encoding);
}

static void page_get(const struct call *call)
{
	const struct page_asking asking = {
		.services = call->services,
		.caller = call->caller,
		.path = call->path,
		.tls = call->tls,
		.host = call->host,
		.accept = call->accept,
		.accept_encoding = call->accept_encoding,
		.if_none_match = call->if_none_match,
	};

	page_answer(&asking, call->answer);
}

/* Pages that are no features; everybody may have them. */
static const struct plain_page {
	const char *path;
	void (*get)(const struct call *call);
	bool below;	 /* so are those below it */
	bool is_scraped; /* the address for scrapers has it, too */
} pages[] = {
	{.path = "/healthz", .get = healthz_get, .is_scraped = true},
	{.path = "/metrics", .get = metrics_get, .is_scraped = true},
	{.path = "/", .get = page_get},
	{.path = "/ui", .get = page_get, .below = true},
};

/* What is told of the host and of its past; not of one feature. */
static const struct told_page {
	const char *path;
	void (*get)(const struct services *services, const struct query *query,
		    struct answer *answer, void (*ready)(void *arg), void *arg);
} told_pages[] = {
	{"/processes", processes_get}, {"/windows", windows_get}, {"/changes", changes_get},
	{"/anomalies", anomalies_get}, {"/events", events_get},
};

static const struct told_page *find_told(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(told_pages); i++) {
		if (strcasecmp(path, told_pages[i].path) == 0)
			return &told_pages[i];
	}
	return NULL;
}

static bool is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	return strncasecmp(path, above, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static const struct plain_page *find_page(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		if (pages[i].below ? is_below(path, pages[i].path)
				   : strcasecmp(path, pages[i].path) == 0)
			return &pages[i];
	}
	return NULL;
}

/* Returns whether the call is a GET or HEAD; else the answer says which methods are allowed. */
static bool is_get(const struct call *call, const char *allow)
{
	if (strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0)
		return true;
	answer_failed(call->answer, 405, "method not allowed");
	call->answer->allow = allow;
	return false;
}

/* Answers a GET of a feature's configuration and status. */
static void get_feature(const struct call *call, const struct feature *feature)
{
	const struct feature *first;
	struct fresh *fresh = call->services->fresh;
	uint64_t began_ns = loop_now_ns();

	features_table(&first);
	fresh += FRESH_FEATURES + (feature - first);
	if (fresh_give(fresh, may_be_old(call), call->answer))
		return;
	feature->get(call->services, call->answer);
	fresh_keep(fresh, call->answer, began_ns);
}

static void dispatch_feature(const struct call *call, const struct feature *feature,
			     const char *name)
{
	const struct services *services = call->services;
	struct answer *answer = call->answer;

	if (name) {
		if (is_get(call, "GET, HEAD"))
			feature->fetch(services, name, &call->query, answer, call->ready,
				       call->arg);
	} else if (strcmp(call->method, "PUT") == 0) {
		char *room = buf_reserve(call->body, 1); /* for a NUL */

		fresh_forget(services->fresh);
		if (room)
			feature->put(services, call->body->data, call->body->len, answer,
				     call->ready, call->arg);
		else
			answer_failed(answer, 503, "no memory for the body");
		if (answer->status == 200 || answer->later == 200)
			state_save(services);
	} else if (is_get(call, "GET, HEAD, PUT")) {
		get_feature(call, feature);
	}
}

#define DEBUG_PPROF "/debug/pprof"

/* Returns what follows "/debug/pprof/". */
static const char *pprof_name(const char *path)
{
	const char *name = path + strlen(DEBUG_PPROF);

	return name + (name[0] == '/');
}

/* Returns the feature of a path, or NULL; *name is what follows it (NULL: nothing). */
static const struct feature *find_feature(const char *path, const char **name)
{
	const char *rest = path[0] == '/' ? path + 1 : path;
	size_t len = strcspn(rest, "/");

	*name = rest[len] ? rest + len + 1 : NULL;
	return *name && !**name ? NULL : feature_find(rest, len);
}

bool call_is_put(const struct call *call)
{
	const char *name;

	return strcmp(call->method, "PUT") == 0 && find_feature(call->path, &name) && !name;
}

void call_need(const struct call *call, struct need *need)
{
	const char *name;
	const struct feature *feature = find_feature(call->path, &name);

	*need = (struct need){.role = ROLE_METRICS};
	if (find_told(call->path)) {
		need->role = ROLE_READ;
		need->costs = true;
	} else if (is_below(call->path, DEBUG_PPROF)) {
		debug_pprof_need(pprof_name(call->path), &call->query, need);
	} else if (feature && name) {
		feature->need(name, &call->query, need);
	} else if (feature) {
		need->role = call_is_put(call) ? ROLE_ADMIN : ROLE_READ;
		need->begins = call_is_put(call) ? feature->put_begins : 0;
	}
}

bool call_is_page(const struct call *call)
{
	return find_page(call->path) != NULL;
}

bool call_is_scraped(const struct call *call)
{
	const struct plain_page *page = find_page(call->path);

	return page && page->is_scraped;
}

void call_dispatch(const struct call *call)
{
	const char *name;
	const struct feature *feature = find_feature(call->path, &name);
	const struct plain_page *page = find_page(call->path);
	const struct told_page *told = find_told(call->path);

	if (told) {
		if (is_get(call, "GET, HEAD"))
			told->get(call->services, &call->query, call->answer, call->ready,
				  call->arg);
	} else if (page) {
		if (is_get(call, "GET, HEAD"))
			page->get(call);
	} else if (is_below(call->path, DEBUG_PPROF)) {
		if (is_get(call, "GET, HEAD"))
			debug_pprof_fetch(call->services, pprof_name(call->path), &call->query,
					  call->answer, call->ready, call->arg);
	} else if (!feature) {
		answer_failed(call->answer, 404, "url not found");
	} else {
		dispatch_feature(call, feature, name);
	}
}
