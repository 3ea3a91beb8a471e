/* SPDX-License-Identifier: GPL-2.0-only */
/* The conf file: libconfig syntax, gala-gopher's sections and keys. conf/stackprobe.conf shows all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/conf/rest_options.h"
#include "base/log.h"
#include "output/files/retention.h"
#include "kernel/tracer.h"
#include "upload/http/options.h"

#define CONF_ROOTS_MAX	   16
#define CONF_ADDRESS_BYTES 64

struct conf {
	enum log_level log_level;
	char bind_addr[CONF_ADDRESS_BYTES];
	int port;
	char *roots[CONF_ROOTS_MAX]; /* output_roots */
	size_t roots_count;
	char *state_dir;   /* "": nothing is kept for the next start */
	char *probes_init; /* a file */
	bool restore;
	char *containers_root; /* where the host's root is seen */
	struct tracer_sizes sizes;
	struct retention_limits retention;
	struct rest_options rest;     /* read: its files can be used */
	struct upload_options upload; /* read: spool_dir is never NULL, its files can be used */
};

/* The defaults. -ENOMEM */
int conf_init(struct conf *conf);
void conf_done(struct conf *conf);

/* Reads a file on top. A file that isn't there is fine unless `required`. Unknown keys are logged
 * and ignored. Negative errno and a sentence in `why`. */
int conf_read(struct conf *conf, const char *path, bool required, char *why, size_t why_bytes);

/* "ADDR:PORT" or "[ADDR]:PORT" into bind_addr and port. -EINVAL */
int conf_set_listen(struct conf *conf, const char *text);

/* The same of the second listener; "": there is none. */
int conf_set_metrics_listen(struct conf *conf, const char *text);
