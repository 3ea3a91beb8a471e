/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The conf file's section `upload`, as plain data: which servers may get profiles, with which
 * credentials, and what may wait on disk. upload/http/auth.h reads the files named here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/why.h"

#define UPLOAD_ALLOW_MAX   64
#define UPLOAD_SERVICE_MAX 2048 /* bytes of a service's name */
#define UPLOAD_TENANT_MAX  150	/* bytes */

struct upload_options {
	char *spool_dir;      /* "": nothing on disk; NULL: not said yet, see api/conf/conf.h */
	uint64_t spool_bytes; /* bytes on disk, 1 MiB to 1 TiB */
	/* Servers that a PUT may name, written as pyroscope_server is. Empty: any server, but none
	 * gets credentials. */
	char *allow[UPLOAD_ALLOW_MAX];
	size_t allow_count;
	char *service_name; /* UTF-8, never empty */
	unsigned period_s;  /* length of a window: 5 to 60, divides 60 */
	unsigned spread_s;  /* 0 to 60: each window is sent a fixed part of this after its end; the
			       part is drawn at the start, so that hosts don't send all at once */
	/* Each of the following may be NULL: not said. */
	char *user, *password_file;    /* basic auth: both or none */
	char *token_file;	       /* bearer; excludes basic auth */
	char *tenant;		       /* X-Scope-OrgID: printable, no blank, no '|' */
	char *ca_file;		       /* PEM; NULL: the system's CAs */
	char *cert_file, *key_file;    /* PEM: both or none */
	uint32_t insecure_credentials; /* a password or token may go over http:// to any host */
};

/* Sets the defaults. Returns 0, or -ENOMEM: then nothing is to be freed. */
int upload_options_init(struct upload_options *options);
void upload_options_done(struct upload_options *options);

/* Makes a deep copy. Returns 0, or -ENOMEM: then nothing is to be freed. */
int upload_options_copy(struct upload_options *to, const struct upload_options *from);

/* Returns whether the options have a secret that identifies us: a password, a token, a
 * certificate's key. A tenant is no secret. */
bool upload_has_credentials(const struct upload_options *options);

/* Checks that the options don't contradict each other. Returns 0, or -EINVAL with a sentence in
 * `why`. */
int upload_options_check(const struct upload_options *options, struct why *why);
