// SPDX-License-Identifier: GPL-2.0-only
#include "api/dispatch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/debug_pprof.h"
#include "api/state.h"
#include "base/cleanup.h"

static void healthz_get(const struct services *services, struct answer *answer)
{
	(void)services;
	answer->status = 200;
	answer->content_type = "text/plain; charset=utf-8";
	buf_str(&answer->body, "ok\n");
}

/* What isn't a feature. */
static const struct {
	const char *path;
	void (*get)(const struct services *services, struct answer *answer);
} pages[] = {
	{"/healthz", healthz_get},
	{"/metrics", metrics_write},
};

/* Of later versions. */
static const char *const later[] = {"/", "/proc"};

static bool is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	return strncasecmp(path, above, len) == 0 &&
	       (path[len] == '\0' || (path[len] == '/' && len > 1));
}

static void not_found(const char *path, struct answer *answer)
{
	char message[128];

	for (size_t i = 0; i < ARRAY_SIZE(later); i++) {
		if (!is_below(path, later[i]))
			continue;
		snprintf(message, sizeof(message), "not available in this version: %s", later[i]);
		answer_failed(answer, 503, message);
		return;
	}
	answer_failed(answer, 404, "url not found");
}

/* Whether it is a GET; if not, the answer says what it may be. */
static bool is_get(const struct call *call, const char *allow)
{
	if (strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0)
		return true;
	answer_failed(call->answer, 405, "method not allowed");
	call->answer->allow = allow;
	return false;
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

		if (room)
			feature->put(services, call->body->data, call->body->len, answer,
				     call->ready, call->arg);
		else
			answer_failed(answer, 503, "no memory for the body");
		if (answer->status == 200 || answer->later == 200)
			state_save(services);
	} else if (is_get(call, "GET, HEAD, PUT")) {
		feature->get(services, answer);
	}
}

#define DEBUG_PPROF "/debug/pprof"

static void dispatch_pprof(const struct call *call)
{
	const char *name = call->path + strlen(DEBUG_PPROF);

	if (is_get(call, "GET, HEAD"))
		debug_pprof_fetch(call->services, name + (name[0] == '/'), &call->query,
				  call->answer, call->ready, call->arg);
}

void call_dispatch(const struct call *call)
{
	const char *path = call->path;
	const char *rest = path[0] == '/' ? path + 1 : path;
	size_t len = strcspn(rest, "/");
	const struct feature *feature = feature_find(rest, len);

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		if (strcasecmp(path, pages[i].path) != 0)
			continue;
		if (is_get(call, "GET, HEAD"))
			pages[i].get(call->services, call->answer);
		return;
	}
	if (is_below(path, DEBUG_PPROF))
		dispatch_pprof(call);
	else if (!feature || strcmp(rest + len, "/") == 0)
		not_found(path, call->answer);
	else
		dispatch_feature(call, feature, rest[len] ? rest + len + 1 : NULL);
}
