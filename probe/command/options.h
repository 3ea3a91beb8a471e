/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's command line, which overrides the conf file. */
#pragma once

#include "api/conf/conf.h"

struct options {
	const char *conf_path; /* NULL: the default, which may be absent */
	const char *listen;
	const char *metrics_listen;
	const char *log_level;
	const char *host; /* NULL: the kernel's */
};

/* -1: go on; else the exit status. */
int options_parse(int argc, char **argv, struct options *options);

/* The conf file with the options on top, at the start and at each SIGHUP. Negative errno and a
 * sentence in `why`; conf_done() is the caller's in any case. */
int options_read_conf(const struct options *options, struct conf *conf, char *why,
		      size_t why_bytes);
