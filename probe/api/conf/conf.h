/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader of the conf file: libconfig syntax, with the sections and keys of gala-gopher.
 * conf/stackprobe.conf shows all keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/conf/rest_options.h"
#include "base/log.h"
#include "history/history.h"
#include "output/files/retention.h"
#include "kernel/tracer.h"
#include "upload/http/upload_options.h"

#define CONF_ROOTS_MAX	   16
#define CONF_ADDRESS_BYTES 64

struct conf {
	enum log_level log_level;
	char bind_addr[CONF_ADDRESS_BYTES];
	int port;
	char *roots[CONF_ROOTS_MAX]; /* output_roots */
	size_t roots_count;
	char *state_dir;   /* "": no state is kept for the next start */
	char *probes_init; /* path of a file with the first configuration */
	bool restore;
	int64_t process_metrics; /* processes with series in /metrics; -1: all */
	char *containers_root;	 /* where the root of the host is seen */
	struct tracer_sizes sizes;
	struct retention_limits retention;
	struct history_options history;
	struct rest_options rest; /* after conf_read() its files have been checked and read */
	struct upload_options
		upload; /* after conf_read() spool_dir is never NULL, and its files can be used */
};

/* Sets the defaults. Returns 0 or -ENOMEM. The caller ends a conf with conf_done(). */
int conf_init(struct conf *conf);
void conf_done(struct conf *conf);

/* Reads a file on top of `conf`. A missing file is fine unless `required`. Unknown keys are logged
 * and ignored. Returns 0, or a negative errno with a sentence in `why`. */
int conf_read(struct conf *conf, const char *path, bool required, struct why *why);

/* Sets bind_addr and port from "ADDR:PORT" or "[ADDR]:PORT". Returns 0 or -EINVAL. */
int conf_set_listen(struct conf *conf, const char *text);

/* Sets the address of the second listener in the same way; "": there is none. Returns 0 or
 * -EINVAL. */
int conf_set_metrics_listen(struct conf *conf, const char *text);
