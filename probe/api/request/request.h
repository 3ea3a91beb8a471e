/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser of the body of a PUT: JSON -> struct spec. A body is taken as a whole or not at all.
 * Messages are those of gala-gopher where it has them. */
#pragma once

#include <stddef.h>

#include "api/request/notes.h"
#include "select/param.h"
#include "output/files/store.h"
#include "select/event_settings.h"
#include "select/spec.h"
#include "upload/http/upload_options.h"

#define REQUEST_BODY_MAX (1024 * 1024)

/* Bounds that the conf file sets for all bodies. */
struct bounds {
	struct store_roots roots;
	const struct upload_options *upload; /* NULL: any server may be named */
	bool without_cgroup_v2;		     /* the host has no v2 hierarchy of cgroups */
};

/* How params.events are kept (session/session_events.h). */
struct event_rules {
	void (*clear)(struct params *params);
	int (*add)(struct params *params, const struct params *before, const char *word,
		   const char *what, struct why *why);
	struct event_settings *(*at)(const struct params *params, unsigned slot);
	unsigned slots;
	void (*settle)(struct params *params);
	uint32_t (*unnamed)(const struct params *params);
};

/* Rules for the bodies of a feature. */
struct rules {
	const char *feature; /* name of the feature in its URL */
	const struct param_table *(*params)(void);
	unsigned probes_count;
	const char *(*probe_name)(unsigned probe); /* NULL: there is none of that number now */
	/* Returns the number of a probe, among them those that these params name; or -ENOENT. */
	int (*probe_find)(const struct params *params, const char *name);
	const struct event_rules *events; /* NULL: the feature has no params.events */
	/* No snooper means all processes; else a body without one is refused. */
	bool everybody;
	/* All probes share one choice of processes: an entry can't have `probe`. */
	bool probes_share;
	/* Returns where a probe is that the feature hasn't, as the end of a sentence; NULL:
	 * nowhere. May be NULL. */
	const char *(*elsewhere)(const char *probe);
	/* Returns why these params, the result of the whole PUT, can't be together (a sentence);
	 * NULL: they can. May be NULL: all params can be together. */
	const char *(*refuse)(const struct params *params);
};

/* Rows of the folders for output that a body names. api/request/put_check.h checks whether these
 * folders can be used. */
#define REQUEST_FOLDERS_MAX 4
struct request_folders {
	const struct param *params[REQUEST_FOLDERS_MAX];
	size_t count;
	bool has_events; /* the body has params.events, which are to be looked for as well */
};

/*
 * Parses a body of a feature (`json=<JSON>`, raw or URL-encoded, or plain JSON) on top of `before`
 * (NULL: the defaults) into *spec, which the caller owns. `data` is changed, and has room for one
 * more byte. No file system is asked: *folders (`folders` may be NULL) gets the folders that are
 * still to be checked; `notes` (may be NULL) gets warnings, and a detail where the body is refused.
 * Returns 0, or -EINVAL or -ENOMEM with *spec untouched and one sentence for people in `why`, in
 * valid UTF-8.
 */
int request_parse(char *data, size_t bytes, const struct rules *rules, const struct spec *before,
		  const struct bounds *bounds, struct spec *spec, struct request_folders *folders,
		  struct notes *notes, struct why *why);
