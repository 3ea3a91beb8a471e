/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TLS of the daemon's own addresses, by the library that libmicrohttpd uses (GnuTLS): the keys of
 * the conf file, and whether a client's certificate is good.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* PEM, as libmicrohttpd takes it: texts that end with a NUL. */
struct tls_keys {
	char *key, *certificate;
	char *authority; /* of clients' certificates; NULL: none is asked for */
};

/*
 * Reads the files; `authority` "": none. What can't be used is refused: no PEM, a key of another
 * certificate. An expired certificate is taken, with a sentence in `warning`. Negative errno and a
 * sentence in `why`.
 */
int tls_keys_read(struct tls_keys **ret, const char *key, const char *certificate,
		  const char *authority, char *warning, char *why, size_t why_bytes);
void tls_keys_free(struct tls_keys *keys); /* overwrites the key */

bool tls_keys_equal(const struct tls_keys *a, const struct tls_keys *b);

enum tls_client {
	TLS_CLIENT_NONE, /* it sent no certificate */
	TLS_CLIENT_GOOD,
	TLS_CLIENT_BAD, /* expired, of another authority, not for clients …: `why` says it */
};

/* Of a session (gnutls_session_t) whose handshake is over. `name` gets the certificate's subject.
 */
enum tls_client tls_client_check(void *session, char *name, size_t name_bytes, char *why,
				 size_t why_bytes);
