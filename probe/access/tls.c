// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"

#define FILE_MAX (1 << 20)

static void free_text(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void tls_keys_free(struct tls_keys *keys)
{
	if (!keys)
		return;
	free_text(keys->key);
	free_text(keys->certificate);
	free_text(keys->authority);
	free(keys);
}

static void tls_keys_freep(struct tls_keys **keys)
{
	tls_keys_free(*keys);
}

static int refuse_file(struct why *why, const char *path, const char *what)
{
	why_set(why, "%s: %s", path, what);
	return -EINVAL;
}

static int read_text(char **ret, const char *path, struct why *why)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_buf_ struct buf text = BUF_INIT(FILE_MAX);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return refuse_file(why, path, strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return refuse_file(why, path, "it is no regular file");
	int r = file_read_fd(fd, &text);
	buf_char(&text, '\0');
	if (r < 0 || buf_error(&text))
		return refuse_file(why, path, strerror(r < 0 ? -r : -buf_error(&text)));
	*ret = TAKE_PTR(text.data);
	return 0;
}

static gnutls_datum_t make_datum(char *text)
{
	return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

/* Writes a warning if the certificate isn't valid today. */
static void look_at_dates(const gnutls_datum_t *pem, const char *path, struct why *warning)
{
	gnutls_x509_crt_t *list = NULL;
	unsigned count = 0;
	time_t now = time(NULL);

	if (gnutls_x509_crt_list_import2(&list, &count, pem, GNUTLS_X509_FMT_PEM, 0) < 0)
		return;
	if (count && gnutls_x509_crt_get_expiration_time(list[0]) < now)
		why_set(warning, "%s has expired", path);
	else if (count && gnutls_x509_crt_get_activation_time(list[0]) > now)
		why_set(warning, "%s isn't valid yet", path);
	for (unsigned i = 0; i < count; i++)
		gnutls_x509_crt_deinit(list[i]);
	gnutls_free(list);
}

/* Loads the keys as libmicrohttpd will. */
static int try_keys(const struct tls_keys *keys, const char *certificate, const char *authority,
		    struct why *why)
{
	gnutls_certificate_credentials_t credentials;
	gnutls_datum_t key = make_datum(keys->key), own = make_datum(keys->certificate);
	int r = gnutls_certificate_allocate_credentials(&credentials);

	if (r < 0)
		return -ENOMEM;
	r = gnutls_certificate_set_x509_key_mem(credentials, &own, &key, GNUTLS_X509_FMT_PEM);
	if (r < 0) {
		why_set(why, "cert_file %s and private_key can't be used: %s", certificate,
			gnutls_strerror(r));
	} else if (keys->authority) {
		gnutls_datum_t trust = make_datum(keys->authority);

		r = gnutls_certificate_set_x509_trust_mem(credentials, &trust, GNUTLS_X509_FMT_PEM);
		if (r <= 0)
			why_set(why, "ca_file %s can't be used: %s", authority,
				r < 0 ? gnutls_strerror(r) : "it has no certificate");
		r = r == 0 ? -1 : r;
	}
	gnutls_certificate_free_credentials(credentials);
	return r < 0 ? -EINVAL : 0;
}

int tls_keys_read(struct tls_keys **ret, const char *key, const char *certificate,
		  const char *authority, struct why *warning, struct why *why)
{
	_cleanup_(tls_keys_freep) struct tls_keys *keys = calloc(1, sizeof(*keys));
	int r = keys ? 0 : -ENOMEM;

	warning->text[0] = '\0';
	if (r == 0)
		r = read_text(&keys->key, key, why);
	if (r == 0)
		r = read_text(&keys->certificate, certificate, why);
	if (r == 0 && authority[0])
		r = read_text(&keys->authority, authority, why);
	if (r == 0)
		r = try_keys(keys, certificate, authority, why);
	if (r < 0)
		return r;
	gnutls_datum_t own = make_datum(keys->certificate);
	look_at_dates(&own, certificate, warning);
	*ret = TAKE_PTR(keys);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool tls_keys_equal(const struct tls_keys *a, const struct tls_keys *b)
{
	if (!a || !b)
		return a == b;
	return same_text(a->key, b->key) && same_text(a->certificate, b->certificate) &&
	       same_text(a->authority, b->authority);
}

static void find_subject(gnutls_session_t session, char *name, size_t bytes)
{
	unsigned count = 0;
	const gnutls_datum_t *sent = gnutls_certificate_get_peers(session, &count);
	gnutls_x509_crt_t certificate;

	snprintf(name, bytes, "?");
	if (!count || gnutls_x509_crt_init(&certificate) < 0)
		return;
	if (gnutls_x509_crt_import(certificate, &sent[0], GNUTLS_X509_FMT_DER) == 0 &&
	    gnutls_x509_crt_get_dn(certificate, name, &bytes) < 0)
		snprintf(name, 2, "?");
	gnutls_x509_crt_deinit(certificate);
}

enum tls_client tls_client_check(void *session, char *name, size_t name_bytes, char *why,
				 size_t why_bytes)
{
	/* Source: RFC 5280 4.2.1.12; a certificate without a purpose is good for any */
	gnutls_typed_vdata_st wanted = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT,
	};
	gnutls_datum_t text = {0};
	unsigned status = 0, count = 0;

	if (!gnutls_certificate_get_peers(session, &count) || !count)
		return TLS_CLIENT_NONE;
	find_subject(session, name, name_bytes);
	int r = gnutls_certificate_verify_peers(session, &wanted, 1, &status);
	if (r == 0 && status == 0)
		return TLS_CLIENT_GOOD;
	if (r == 0 &&
	    gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) == 0)
		snprintf(why, why_bytes, "%s", text.data);
	else
		snprintf(why, why_bytes, "%s", r < 0 ? gnutls_strerror(r) : "it is not valid");
	gnutls_free(text.data);
	return TLS_CLIENT_BAD;
}
