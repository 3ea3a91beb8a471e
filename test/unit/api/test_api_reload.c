// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the server listens: at its start, and after SIGHUP (server_reload()). */
#include "unit/lib/scripted_api.h"

#define HEALTHZ	    "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define METRICS	    "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define SCHED	    "GET /sched HTTP/1.1\r\nHost: localhost\r\n\r\n"

#define RELOADS_MAX 4

/* Confs that aren't in force any more, freed at the end as the daemon does it. */
static struct conf retired[RELOADS_MAX];
static size_t retired_count;

static int end(void **state)
{
	api_end(state);
	while (retired_count)
		conf_done(&retired[--retired_count]);
	return 0;
}

/* Reads a conf like the one in force, for a test to change. */
static void read_conf(const struct scripted_api *api, struct conf *fresh)
{
	api_conf(api, fresh);
	fresh->port = api->conf.port;
}

static void reload(struct scripted_api *api, struct conf *fresh)
{
	log_set_level(LOG_ERROR + 1); /* what fails is logged as an error */
	server_reload(api->server, fresh);
	log_set_level(LOG_ERROR);
	assert_true(retired_count < RELOADS_MAX);
	retired[retired_count++] = api->conf;
	api->conf = *fresh;
}

/* Returns a socket that listens at a free port. */
static int listening(int *port)
{
	struct sockaddr_in name = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&name, bytes), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &bytes), 0);
	*port = ntohs(name.sin_port);
	return fd;
}

static int free_port(void)
{
	int port;

	close(listening(&port));
	return port;
}

static bool is_refused(int port)
{
	struct sockaddr_in name = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0 && errno == ECONNREFUSED;
}

/* Asks on an open connection; returns the status. */
static unsigned status_on(struct scripted_api *api, struct http_client *client, const char *text)
{
	struct reply reply;

	http_send(client, text);
	api_answer(api, client, &reply);
	return reply.status;
}

static unsigned status_at(struct scripted_api *api, int port, const char *text)
{
	_cleanup_http_ struct http_client client;

	http_open_port(&client, port);
	return status_on(api, &client, text);
}

static void the_port_can_be_changed_and_open_connections_end_with_an_answer(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_http_ struct http_client client;
	int before = server_port(api->server);
	struct conf fresh;

	http_open_port(&client, before);
	http_turn(&client);
	assert_int_equal(api_get(api, "/healthz")->status, 200); /* the one above is accepted */
	read_conf(api, &fresh);
	fresh.port = free_port();
	reload(api, &fresh);
	assert_int_equal(server_port(api->server), fresh.port);
	assert_int_equal(status_at(api, fresh.port, HEALTHZ), 200);
	assert_true(is_refused(before));
	assert_int_equal(status_on(api, &client, HEALTHZ), 200);
	assert_has(client.got.data, "\r\nConnection: close\r\n");
}

static void a_port_that_is_taken_leaves_the_old_one(void **state)
{
	struct scripted_api *api = *state;
	int before = server_port(api->server), taken;
	_cleanup_close_ int other = listening(&taken);
	struct conf fresh;

	assert_true(other >= 0);
	read_conf(api, &fresh);
	fresh.port = taken;
	reload(api, &fresh);
	assert_int_equal(server_port(api->server), before);
	assert_int_equal(api->conf.port, 0); /* as it was, for the next time */
	assert_int_equal(status_at(api, before, HEALTHZ), 200);
}

static void the_tcp_address_can_be_closed_and_opened_again(void **state)
{
	struct scripted_api *api = *state;
	int before = server_port(api->server);
	struct conf fresh;

	read_conf(api, &fresh);
	fresh.bind_addr[0] = '\0';
	reload(api, &fresh);
	assert_int_equal(server_port(api->server), 0);
	assert_true(is_refused(before));
	assert_int_equal(api_get(api, "/healthz")->status, 200); /* at the socket */
	read_conf(api, &fresh);
	strcpy(fresh.bind_addr, "127.0.0.1");
	reload(api, &fresh);
	assert_int_equal(status_at(api, server_port(api->server), HEALTHZ), 200);
}

static void the_last_address_is_never_closed(void **state)
{
	struct scripted_api *api = *state;
	int before = server_port(api->server);
	struct conf fresh;

	read_conf(api, &fresh);
	fresh.bind_addr[0] = fresh.rest.socket[0] = '\0';
	reload(api, &fresh);
	assert_int_equal(server_port(api->server), before);
	assert_string_equal(api->conf.bind_addr, "127.0.0.1");
	assert_int_equal(status_at(api, before, HEALTHZ), 200); /* the socket is closed now */
	read_conf(api, &fresh);
	free(fresh.rest.socket);
	fresh.rest.socket = strdup("");
	fresh.bind_addr[0] = '\0';
	reload(api, &fresh);
	assert_int_equal(status_at(api, before, HEALTHZ), 200);
}

static void a_second_address_has_metrics_alone(void **state)
{
	struct scripted_api *api = *state;
	struct conf fresh, without;
	int port = free_port();

	read_conf(api, &fresh);
	fresh.rest.rules.open = true; /* there everybody may all, but not here */
	strcpy(fresh.rest.metrics_address, "127.0.0.1");
	fresh.rest.metrics_port = port;
	reload(api, &fresh);
	assert_int_equal(status_at(api, port, HEALTHZ), 200);
	assert_int_equal(status_at(api, port, METRICS), 200);
	assert_int_equal(status_at(api, port, SCHED), 403);
	assert_int_equal(status_at(api, server_port(api->server), SCHED), 200);
	read_conf(api, &without);
	reload(api, &without);
	assert_int_equal(api_get(api, "/healthz")->status, 200);
	assert_true(is_refused(port));
}

static void a_second_address_that_is_taken_leaves_what_was(void **state)
{
	struct scripted_api *api = *state;
	struct conf fresh;
	int taken;
	_cleanup_close_ int other = listening(&taken);

	assert_true(other >= 0);
	read_conf(api, &fresh);
	strcpy(fresh.rest.metrics_address, "127.0.0.1");
	fresh.rest.metrics_port = taken;
	reload(api, &fresh);
	assert_string_equal(api->conf.rest.metrics_address, "");
	assert_int_equal(api_get(api, "/healthz")->status, 200);
}

static void the_socket_moves_with_its_path(void **state)
{
	struct scripted_api *api = *state;
	struct conf fresh, none;

	strcat(api->socket, "2");
	read_conf(api, &fresh);
	reload(api, &fresh);
	assert_int_equal(api_get(api, "/healthz")->status, 200);
	assert_false(folder_has(&api->folder, "api.sock"));
	read_conf(api, &none);
	none.rest.socket[0] = '\0';
	reload(api, &none);
	assert_false(folder_has(&api->folder, "api.sock2"));
	assert_int_equal(status_at(api, server_port(api->server), HEALTHZ), 200);
}

static void a_path_that_cannot_be_had_leaves_the_old_socket(void **state)
{
	struct scripted_api *api = *state;
	struct conf fresh;

	read_conf(api, &fresh);
	strcpy(strrchr(fresh.rest.socket, '/'), "/out");
	reload(api, &fresh);
	assert_string_equal(api->conf.rest.socket, api->socket);
	assert_int_equal(api_get(api, "/healthz")->status, 200);
}

static void other_rules_end_connections_that_wait(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_http_ struct http_client client;
	struct conf fresh;

	http_open_at(&client, api->socket);
	assert_int_equal(status_on(api, &client, HEALTHZ), 200);
	read_conf(api, &fresh);
	fresh.rest.rules.open = true;
	reload(api, &fresh);
	client.got.len = 0;
	scripted_core_until(&api->core, http_is_answered, &client);
	assert_true(client.ended && client.got.len == 0);
}

/* Makes keys that can't be used. */
static struct tls_keys *bad_keys(void)
{
	struct tls_keys *keys = calloc(1, sizeof(*keys));

	assert_non_null(keys);
	*keys = (struct tls_keys){strdup("no key"), strdup("no certificate"),
				  strdup("no authority")};
	return keys;
}

static void keys_that_cannot_be_used_leave_what_was(void **state)
{
	struct scripted_api *api = *state;
	int port = server_port(api->server);
	struct conf fresh;

	read_conf(api, &fresh);
	fresh.rest.keys = bad_keys();
	reload(api, &fresh);
	assert_null(api->conf.rest.keys);
	assert_int_equal(status_at(api, port, HEALTHZ), 200);
}

/* ---- the start ---- */

/* Begins anew; returns the server's sentence, or "". */
static const char *start_again(struct scripted_api *api)
{
	static struct why why;

	api_stop(api);
	api_start_features(api);
	log_set_level(LOG_ERROR);
	why.text[0] = '\0';
	if (scripted_api_listen(api, &why) < 0)
		api->server = NULL;
	return why.text;
}

static void a_start_says_what_cannot_be_had(void **state)
{
	struct scripted_api *api = *state;
	char expected[256];
	int taken;
	_cleanup_close_ int other = listening(&taken);

	assert_true(other >= 0);
	api->conf.port = taken;
	snprintf(expected, sizeof(expected), "can't listen on 127.0.0.1:%d: Address already in use",
		 taken);
	assert_string_equal(start_again(api), expected);
	api->conf.port = 0;
	strcpy(api->conf.bind_addr, "localhost");
	assert_string_equal(start_again(api), "can't listen on localhost:0: Invalid argument");
	strcpy(api->conf.bind_addr, "127.0.0.1");
	api->conf.rest.keys = bad_keys();
	assert_string_equal(start_again(api), "the HTTP library can't be started with the keys of "
					      "rest_api_server");
	tls_keys_free(TAKE_PTR(api->conf.rest.keys));
	assert_string_equal(start_again(api), "");
}

static void a_start_says_why_the_socket_cannot_be_had(void **state)
{
	struct scripted_api *api = *state;
	char expected[256];
	struct scripted_api *other = api_new();

	api_stop(api);
	api_start(api);
	strcpy(other->conf.rest.socket, api->socket);
	api_start_features(other);
	struct why why = {0};
	assert_int_equal(scripted_api_listen(other, &why), -EADDRINUSE);
	snprintf(expected, sizeof(expected), "can't listen at %s: another daemon listens there",
		 api->socket);
	assert_string_equal(why.text, expected);
	other->conf.rest.socket_given = false; /* then it goes without */
	assert_int_equal(scripted_api_listen(other, &why), 0);
	assert_int_equal(status_at(other, server_port(other->server), HEALTHZ), 200);
	api_free(other);
	assert_int_equal(api_get(api, "/healthz")->status, 200); /* it has the socket still */
}

static void a_socket_needs_a_safe_place(void **state)
{
	struct scripted_api *api = *state;
	char expected[256];

	strcpy(strrchr(api->conf.rest.socket, '/'), "/out");
	snprintf(expected, sizeof(expected),
		 "can't listen at %s: there is something that is no socket", api->out);
	assert_string_equal(start_again(api), expected);
	assert_int_equal(fchmod(api->folder.fd, 0777), 0);
	snprintf(expected, sizeof(expected),
		 "can't listen at %s: its folder doesn't belong to root alone, or others may write "
		 "there",
		 api->out);
	assert_string_equal(start_again(api), expected);
}

static void the_socket_goes_with_the_daemon(void **state)
{
	struct scripted_api *api = *state;

	assert_true(folder_has(&api->folder, "api.sock"));
	api_stop(api);
	assert_false(folder_has(&api->folder, "api.sock"));
	api_start(api);
}

#define NOBODY(test) cmocka_unit_test_setup_teardown(test, api_begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NOBODY(the_port_can_be_changed_and_open_connections_end_with_an_answer),
		NOBODY(a_port_that_is_taken_leaves_the_old_one),
		NOBODY(a_second_address_has_metrics_alone),
		NOBODY(a_second_address_that_is_taken_leaves_what_was),
		NOBODY(the_tcp_address_can_be_closed_and_opened_again),
		NOBODY(the_last_address_is_never_closed),
		NOBODY(the_socket_moves_with_its_path),
		NOBODY(a_path_that_cannot_be_had_leaves_the_old_socket),
		NOBODY(other_rules_end_connections_that_wait),
		NOBODY(keys_that_cannot_be_used_leave_what_was),
		NOBODY(a_start_says_what_cannot_be_had),
		NOBODY(a_start_says_why_the_socket_cannot_be_had),
		NOBODY(a_socket_needs_a_safe_place),
		NOBODY(the_socket_goes_with_the_daemon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
