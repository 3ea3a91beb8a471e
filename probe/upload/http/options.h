/* SPDX-License-Identifier: GPL-2.0-only */
/* What the conf file's section `upload` says: to whom profiles may be sent, as whom, and what waits
 * on disk meanwhile. Plain data. Files are named here and read by upload/http/auth.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UPLOAD_ALLOW_MAX   64
#define UPLOAD_SERVICE_MAX 2048 /* bytes of a service's name */
#define UPLOAD_TENANT_MAX  150	/* bytes */

struct upload_options {
	char *spool_dir;      /* "": nothing on disk. NULL: not said yet, see api/conf/conf.h */
	uint64_t spool_bytes; /* 1 MiB to 1 TiB */
	/* Servers that a PUT may name, each written as pyroscope_server is; none: any, and none of
	 * them gets credentials. */
	char *allow[UPLOAD_ALLOW_MAX];
	size_t allow_count;
	char *service_name; /* UTF-8, never empty */
	unsigned period_s;  /* of windows: 5 to 60, divides 60 */
	unsigned spread_s;  /* 0 to 60: a window is sent a part of that after its end, a fixed one
			       drawn at the start, so that hosts don't send all at once */
	/* Any of these may be NULL: not said. */
	char *user, *password_file;    /* basic auth: both or none */
	char *token_file;	       /* bearer, instead of these two */
	char *tenant;		       /* X-Scope-OrgID: printable, no blank, no '|' */
	char *ca_file;		       /* PEM; NULL: the system's */
	char *cert_file, *key_file;    /* PEM: both or none */
	uint32_t insecure_credentials; /* a password or token may go over http:// to any host */
};

/* The defaults. -ENOMEM: nothing is to be freed. */
int upload_options_init(struct upload_options *options);
void upload_options_done(struct upload_options *options);

/* A copy of its own. -ENOMEM: nothing is to be freed. */
int upload_options_copy(struct upload_options *to, const struct upload_options *from);

/* Whether a server would be told who we are by a secret: a password, a token, a certificate's key.
 * A tenant is none. */
bool upload_has_credentials(const struct upload_options *options);

/* Whether all that was said can be meant together. -EINVAL and a sentence in `why`. */
int upload_options_check(const struct upload_options *options, char *why, size_t why_bytes);
