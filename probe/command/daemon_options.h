/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's command line, which overrides the conf file. */
#pragma once

#include "api/conf/conf.h"

struct options {
	const char *conf_path;	    /* NULL: the default, which may be missing */
	const char *listen;	    /* ADDR:PORT; NULL: as in the conf file */
	const char *metrics_listen; /* ADDR:PORT; NULL: as in the conf file */
	const char *log_level;	    /* NULL: as in the conf file */
	const char *host;	    /* NULL: the kernel's host name */
};

/* Parses the command line; the strings are borrowed from argv. Returns -1 to go on, or the exit
 * status. */
int options_parse(int argc, char **argv, struct options *options);

/* Reads the conf file and applies the options on top; used at the start and at each SIGHUP. Returns
 * 0, or a negative errno with a sentence in `why`. The caller calls conf_done() in any case. */
int options_read_conf(const struct options *options, struct conf *conf, struct why *why);
