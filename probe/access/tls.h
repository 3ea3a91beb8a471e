/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS for the daemon's HTTP server, with GnuTLS, which libmicrohttpd uses too: reads the keys of
 * the conf file, and checks clients' certificates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/why.h"

/* PEM texts that end with a NUL, as libmicrohttpd wants them. */
struct tls_keys {
	char *key, *certificate;
	char *authority; /* of clients' certificates; NULL: clients are asked for none */
};

/*
 * Reads the files (`authority` "": none). Refuses files that aren't PEM, or a key that belongs to
 * another certificate. Accepts an expired certificate, with a sentence in `warning` (else "").
 * Returns 0, or a negative errno with a sentence in `why`. The caller owns *ret.
 */
int tls_keys_read(struct tls_keys **ret, const char *key, const char *certificate,
		  const char *authority, struct why *warning, struct why *why);
void tls_keys_free(struct tls_keys *keys); /* overwrites the key */

bool tls_keys_equal(const struct tls_keys *a, const struct tls_keys *b);

enum tls_client {
	TLS_CLIENT_NONE, /* the client sent no certificate */
	TLS_CLIENT_GOOD,
	TLS_CLIENT_BAD, /* expired, of another authority, not for clients …: see `why` */
};

/* Checks the client's certificate of a session (gnutls_session_t) whose handshake is over. Stores
 * the certificate's subject in `name`, and for TLS_CLIENT_BAD a sentence in `why`. */
enum tls_client tls_client_check(void *session, char *name, size_t name_bytes, char *why,
				 size_t why_bytes);
