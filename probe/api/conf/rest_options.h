/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of the section rest_api_server of the conf file: who may ask, and how. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "access/access.h"
#include "access/browser.h"
#include "access/tls.h"

#define REST_HOSTS_MAX 64
#define REST_SOCKET    "/run/stackprobe/api.sock"

struct rest_options {
	/* Values as the file has them. */
	char *socket;		  /* "": none */
	bool socket_given;	  /* the file names the socket: the start fails without it */
	char metrics_address[64]; /* CONF_ADDRESS_BYTES; "": no second listener */
	int metrics_port;
	char *admin_group;	  /* "": none */
	char *token_files[ROLES]; /* NULL: none */
	char *hosts[REST_HOSTS_MAX];
	size_t hosts_count;
	bool tls;
	char *private_key, *cert_file, *ca_file; /* "": none */

	/* Results of rest_options_settle(). */
	struct access_rules rules;
	struct tls_keys *keys; /* NULL: no TLS */
};

/* Sets the defaults. Returns 0 or -ENOMEM. The caller ends the options with rest_options_done(). */
int rest_options_init(struct rest_options *options);
void rest_options_done(struct rest_options *options);

/* Reads the files that the options name, into `rules` and `keys`. Returns 0, or a negative errno
 * with a sentence in `why` (not with -ENOMEM). */
int rest_options_settle(struct rest_options *options, struct why *why);
