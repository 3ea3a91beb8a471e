// SPDX-License-Identifier: GPL-2.0-or-later
/* The server's TLS, with keys made by the openssl program: sessions, clients' certificates, and
 * SIGHUP. */
#include "unit/lib/scripted_api.h"

/* It has a `union params`, and we have a struct of that name. */
#define params gnutls_params
#include <gnutls/gnutls.h>
#undef params

#define KEY "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -batch -days 2"

static struct folder keys; /* a, b: keys with their own certificates */
static bool has_openssl;

static int make_keys(void **state)
{
	char command[512];

	(void)state;
	folder_make(&keys);
	has_openssl = system("openssl version >/dev/null 2>&1") == 0;
	for (int i = 0; has_openssl && i < 2; i++) {
		snprintf(command, sizeof(command),
			 "cd %s && openssl req -x509 " KEY
			 " -subj /CN=localhost -keyout %c.key -out %c.pem 2>/dev/null",
			 keys.path, 'a' + i, 'a' + i);
		assert_int_equal(system(command), 0);
	}
	if (!has_openssl)
		print_message("no openssl program\n");
	return 0;
}

static int remove_keys(void **state)
{
	(void)state;
	folder_done(&keys);
	return 0;
}

static void path_of(char path[96], const char *name)
{
	snprintf(path, 96, "%s/%s", keys.path, name);
}

/* Reads the key and certificate `name` ("a" or "b"); clients' certificates are a's. */
static struct tls_keys *read_keys(const char *name)
{
	char key[96], certificate[96], authority[96], file[8];
	struct why why = {0}, warning = {0};
	struct tls_keys *read;

	snprintf(file, sizeof(file), "%s.key", name);
	path_of(key, file);
	snprintf(file, sizeof(file), "%s.pem", name);
	path_of(certificate, file);
	path_of(authority, "a.pem");
	if (tls_keys_read(&read, key, certificate, authority, &warning, &why) < 0)
		fail_msg("%s", why.text);
	return read;
}

static int begin(void **state)
{
	struct scripted_api *api = api_new();

	if (has_openssl)
		api->conf.rest.keys = read_keys("a");
	api_start(api);
	*state = api;
	return 0;
}

/* A client of HTTPS, which works as struct http_client does. */
struct https_client {
	struct http_client http;
	gnutls_certificate_credentials_t credentials;
	gnutls_session_t session;
	bool is_shaken, has_failed;
	const char *request;
	struct reply reply; /* the last one */
};

/* `name`: whose certificate the client has; NULL: none. */
static void client_begin(struct https_client *client, struct scripted_api *api, const char *name)
{
	char key[96], certificate[96], file[8];

	memset(client, 0, sizeof(*client));
	http_open_port(&client->http, server_port(api->server));
	gnutls_certificate_allocate_credentials(&client->credentials);
	if (name) {
		snprintf(file, sizeof(file), "%s.key", name);
		path_of(key, file);
		snprintf(file, sizeof(file), "%s.pem", name);
		path_of(certificate, file);
		assert_int_equal(gnutls_certificate_set_x509_key_file(client->credentials,
								      certificate, key,
								      GNUTLS_X509_FMT_PEM),
				 0);
	}
	gnutls_init(&client->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_FORCE_CLIENT_CERT);
	gnutls_set_default_priority(client->session);
	gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials);
	gnutls_transport_set_int(client->session, client->http.fd);
}

static void client_end(struct https_client *client)
{
	gnutls_deinit(client->session);
	gnutls_certificate_free_credentials(client->credentials);
	http_close(&client->http);
}
#define _cleanup_client_ _cleanup_(client_end)

static bool is_over(const struct https_client *client)
{
	const char *body = client->http.got.len ? strstr(client->http.got.data, "\r\n\r\n") : NULL;
	const char *length = body ? strstr(client->http.got.data, "Content-Length: ") : NULL;

	return client->has_failed || (length && strlen(body + 4) >= strtoul(length + 16, NULL, 10));
}

/* Goes on as far as it goes now. */
static bool client_turn(void *arg)
{
	struct https_client *client = arg;
	char part[4096];
	ssize_t n = 0;

	if (!client->is_shaken)
		n = gnutls_handshake(client->session);
	client->is_shaken |= n == 0;
	if (client->is_shaken && client->request) {
		n = gnutls_record_send(client->session, client->request, strlen(client->request));
		client->request = n > 0 ? NULL : client->request;
	}
	while (client->is_shaken && !client->request &&
	       (n = gnutls_record_recv(client->session, part, sizeof(part))) > 0)
		buf_add(&client->http.got, part, (size_t)n);
	client->has_failed |= n < 0 && gnutls_error_is_fatal((int)n);
	if (client->http.got.len) {
		buf_char(&client->http.got, '\0');
		client->http.got.len--;
	}
	return is_over(client);
}

/* Asks once more on that session. Returns the answer's status; 0: there was none. */
static unsigned client_ask(struct https_client *client, struct scripted_api *api,
			   const char *request)
{
	client->http.got.len = 0;
	client->request = request;
	scripted_core_until(&api->core, client_turn, client);
	if (client->has_failed)
		return 0;
	http_reply(&client->http, &client->reply);
	return client->reply.status;
}

#define HEALTHZ "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define SCHED	"GET /sched HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void a_session_is_answered_and_plain_text_is_not(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_http_ struct http_client plain;

	if (!has_openssl)
		skip();
	_cleanup_client_ struct https_client client;
	client_begin(&client, api, NULL);
	assert_int_equal(client_ask(&client, api, HEALTHZ), 200);
	assert_int_equal(client_ask(&client, api, SCHED), 401); /* nobody is known by TLS alone */
	http_open_port(&plain, server_port(api->server));
	http_send(&plain, HEALTHZ);
	scripted_core_until(&api->core, http_is_answered, &plain);
	assert_null(strstr(plain.got.data, "200 OK"));
	assert_int_equal(api_get(api, "/healthz")->status, 200); /* the socket has no TLS */
}

static void a_certificate_of_the_authority_is_an_administrators(void **state)
{
	struct scripted_api *api = *state;

	if (!has_openssl)
		skip();
	_cleanup_client_ struct https_client client;
	client_begin(&client, api, "a");
	assert_int_equal(client_ask(&client, api, SCHED), 200);
}

static void another_certificate_is_worse_than_none(void **state)
{
	struct scripted_api *api = *state;

	if (!has_openssl)
		skip();
	_cleanup_client_ struct https_client client;
	client_begin(&client, api, "b");
	assert_int_equal(client_ask(&client, api, HEALTHZ), 403);
	assert_has(client.reply.body, "the client's certificate isn't accepted: ");
	assert_has(api_get(api, "/metrics")->body,
		   "\nstackprobe_http_refused_total{cause=\"certificate\"} 1\n");
}

static void a_reload_takes_other_keys_and_sessions_go_on(void **state)
{
	struct scripted_api *api = *state;
	struct conf fresh, before;

	if (!has_openssl)
		skip();
	_cleanup_client_ struct https_client old;
	_cleanup_client_ struct https_client other;
	client_begin(&old, api, NULL);
	assert_int_equal(client_ask(&old, api, HEALTHZ), 200);
	api_conf(api, &fresh);
	fresh.rest.keys = read_keys("b");
	server_reload(api->server, &fresh);
	before = api->conf;
	api->conf = fresh;
	client_begin(&other, api, NULL);
	assert_int_equal(client_ask(&other, api, HEALTHZ), 200);
	const gnutls_datum_t *theirs = gnutls_certificate_get_peers(other.session, NULL);
	const gnutls_datum_t *first = gnutls_certificate_get_peers(old.session, NULL);
	assert_false(theirs->size == first->size &&
		     memcmp(theirs->data, first->data, first->size) == 0);
	api_stop(api); /* the conf before is in use until then */
	conf_done(&before);
	api_start(api);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, begin, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(a_session_is_answered_and_plain_text_is_not),
		SCENE(a_certificate_of_the_authority_is_an_administrators),
		SCENE(another_certificate_is_worse_than_none),
		SCENE(a_reload_takes_other_keys_and_sessions_go_on),
	};
	return cmocka_run_group_tests(tests, make_keys, remove_keys);
}
