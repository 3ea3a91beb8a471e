/* SPDX-License-Identifier: GPL-2.0-only */
/* What the section rest_api_server of the conf file says of who may ask, and how. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "access/access.h"
#include "access/browser.h"
#include "access/tls.h"

#define REST_HOSTS_MAX 64
#define REST_SOCKET    "/run/stackprobe/api.sock"

struct rest_options {
	/* as the file has it */
	char *socket;		  /* "": none */
	bool socket_given;	  /* the file names it: the start fails without it */
	char metrics_address[64]; /* CONF_ADDRESS_BYTES; "": no second listener */
	int metrics_port;
	char *admin_group;	  /* "": none */
	char *token_files[ROLES]; /* NULL: none */
	char *hosts[REST_HOSTS_MAX];
	size_t hosts_count;
	bool tls;
	char *private_key, *cert_file, *ca_file; /* "": none */

	/* what it comes to, once it is settled */
	struct access_rules rules;
	struct tls_keys *keys; /* NULL: no TLS */
};

/* The defaults. -ENOMEM */
int rest_options_init(struct rest_options *options);
void rest_options_done(struct rest_options *options);

/* Reads the files that are named. Negative errno and a sentence in `why`. */
int rest_options_settle(struct rest_options *options, char *why, size_t why_bytes);
