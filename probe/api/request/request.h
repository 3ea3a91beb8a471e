/* SPDX-License-Identifier: GPL-2.0-only */
/* The body of a PUT -> a spec. All or nothing; messages are gala-gopher's where it has them. */
#pragma once

#include <stddef.h>

#include "api/request/param.h"
#include "output/files/store.h"
#include "select/spec.h"
#include "upload/http/options.h"

#define REQUEST_BODY_MAX    (1024 * 1024)
#define REQUEST_MESSAGE_MAX 1024

/* How far the conf file lets any body go. */
struct bounds {
	struct store_roots roots;
	const struct upload_options *upload; /* NULL: any server may be named */
	bool without_cgroup_v2;		     /* the host has no such hierarchy */
};

/* What the bodies of a feature may say. */
struct rules {
	const char *feature; /* as in its URL */
	const struct param_table *params;
	unsigned probes_count;
	const char *(*probe_name)(unsigned probe);
	int (*probe_find)(const char *name); /* its number, or -ENOENT */
	bool everybody;	   /* without a snooper it means all processes; else that is refused */
	bool probes_share; /* one choice of processes for all probes: no `probe` in an entry */
	/* Why params can't be together, as they would all be after the PUT: a sentence; NULL: they
	 * can. No such function: there is no such reason. */
	const char *(*refuse)(const struct params *params);
};

/* The rows of a body's folders for output: whether these can be used is
 * api/request/folder_check.h's. */
#define REQUEST_FOLDERS_MAX 4
struct request_folders {
	const struct param *params[REQUEST_FOLDERS_MAX];
	size_t count;
};

/*
 * Reads a body (`json=<JSON>` raw or URL-encoded, or plain JSON) of a feature on top of `before`
 * (NULL: the defaults) into `spec`. `data` is changed. On -EINVAL `message` has one sentence for
 * people, in valid UTF-8, and `spec` is untouched; -ENOMEM likewise. No file system is asked:
 * `folders` (NULL: not wanted) gets what is still to be looked at.
 */
int request_parse(char *data, size_t bytes, const struct rules *rules, const struct spec *before,
		  const struct bounds *bounds, struct spec *spec, struct request_folders *folders,
		  char message[REQUEST_MESSAGE_MAX]);
