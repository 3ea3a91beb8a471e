// SPDX-License-Identifier: GPL-2.0-or-later
/* The server: paths, methods, bodies, connections. */
#include "unit/lib/scripted_api.h"

#include <sys/resource.h>

/* Sends a request as it is, on a connection of its own, and takes the answer. */
static const struct reply *send_raw(struct scripted_api *api, const char *text)
{
	http_close(&api->client);
	http_open_at(&api->client, api->socket);
	http_send(&api->client, text);
	api_answer(api, &api->client, &api->reply);
	return &api->reply;
}

static void a_page_is_found_whatever_its_case(void **state)
{
	static const char *const paths[] = {"/healthz", "/HealthZ", "/health%7A", "/healthz?x=1"};
	struct scripted_api *api = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct reply *reply = api_get(api, paths[i]);

		assert_int_equal(reply->status, 200);
		assert_string_equal(reply->body, "ok\n");
		assert_has(reply->head, "\r\nContent-Type: text/plain; charset=utf-8\r\n");
	}
}

static void what_is_not_there_is_a_404(void **state)
{
	static const char *const unknown[] = {
		"/nothing",   "/flamegraph/", "/sched/",      "/healthz/",
		"/metrics/x", "/healthz%00",  "/flamegraphs", "/flamegrap%00h",
		"/procs",     "//",	      "/Proc/1",
	};
	struct scripted_api *api = *state;

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_get_fails(api, unknown[i], 404, "url not found");
	assert_get_fails(api, "/ui", 404, "url not found");
	assert_get_fails(api, "/ui/nothing.js", 404, "url not found");
	assert_get_fails(api, "/ui/../page.html", 404, "url not found");
}

static void another_method_is_told_which_there_are(void **state)
{
	static const struct {
		const char *method, *path, *allow;
	} calls[] = {
		{"POST", "/flamegraph", "GET, HEAD, PUT"},
		{"DELETE", "/sched", "GET, HEAD, PUT"},
		{"PUT", "/flamegraph/oncpu.svg", "GET, HEAD"},
		{"POST", "/sched/runqlat.txt", "GET, HEAD"},
		{"PUT", "/metrics", "GET, HEAD"},
		{"OPTIONS", "/healthz", "GET, HEAD"},
		{"POST", "/debug/pprof/profile", "GET, HEAD"},
	};
	struct scripted_api *api = *state;
	char line[48];

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct reply *reply = api_ask(api, calls[i].method, calls[i].path, "");

		assert_failed(reply, 405, "method not allowed");
		snprintf(line, sizeof(line), "\r\nAllow: %s\r\n", calls[i].allow);
		assert_has(reply->head, line);
	}
}

static void head_has_the_head_alone(void **state)
{
	struct scripted_api *api = *state;
	const struct reply *reply = api_ask(api, "HEAD", "/healthz", NULL);

	assert_int_equal(reply->status, 200);
	assert_has(reply->head, "\r\nContent-Length: 3\r\n");
	assert_string_equal(reply->body, "");
}

static void no_page_of_another_origin_gets_an_answer(void **state)
{
	static const char *const lines[] = {
		"\r\nX-Content-Type-Options: nosniff\r\n",
		"\r\nCache-Control: no-store\r\n",
		"\r\nCross-Origin-Resource-Policy: same-origin\r\n",
		"\r\nContent-Security-Policy: default-src 'none';",
	};
	static const char *const paths[] = {"/healthz", "/nothing", "/flamegraph"};
	struct scripted_api *api = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct reply *reply = api_get(api, paths[i]);

		for (size_t j = 0; j < ARRAY_SIZE(lines); j++)
			assert_has(reply->head, lines[j]);
	}
}

static void a_connection_has_many_requests(void **state)
{
	static const char two[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct scripted_api *api = *state;
	_cleanup_http_ struct http_client client;
	struct reply reply;

	http_open_at(&client, api->socket);
	for (int i = 0; i < 3; i++) {
		http_send(&client, two);
		api_answer(api, &client, &reply);
		assert_string_equal(reply.body, "ok\n");
		assert_false(client.ended);
	}
}

/* A PUT with a body of some blanks and a state, so that it is JSON; the caller frees it. */
static char *long_put(const char *path, size_t bytes)
{
	char *body = malloc(bytes + 1);

	assert_non_null(body);
	memset(body, ' ', bytes);
	memcpy(body, "{}", 2);
	body[bytes] = '\0';
	char *request = api_request("PUT", path, "Connection: close\r\n", body);
	free(body);
	return request;
}

static void a_body_has_a_mebibyte_at_most(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_free_ char *most = long_put("/sched", REQUEST_BODY_MAX);
	_cleanup_free_ char *more = long_put("/sched", REQUEST_BODY_MAX + 1);

	assert_int_equal(send_raw(api, most)->status, 400); /* was read */
	/* An answer at once: nobody sends a mebibyte in vain. */
	*strstr(more, "{}") = '\0';
	assert_failed(send_raw(api, more), 413, "put data size exceeds 1048576");
}

static void a_body_in_chunks_has_a_mebibyte_at_most(void **state)
{
	static const char head[] = "PUT /sched HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";
	struct scripted_api *api = *state;
	_cleanup_buf_ struct buf text = BUF_INIT(4 << 20);
	char part[4096];

	memset(part, ' ', sizeof(part));
	buf_str(&text, head);
	for (int i = 0; i < 257; i++) {
		buf_str(&text, "1000\r\n");
		buf_add(&text, part, sizeof(part));
		buf_str(&text, "\r\n");
	}
	buf_str(&text, "0\r\n\r\n");
	buf_char(&text, '\0');
	assert_int_equal(buf_error(&text), 0);
	assert_failed(send_raw(api, text.data), 413, "put data size exceeds 1048576");
}

static void a_body_that_is_no_puts_is_dropped_and_bounded(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_free_ char *small = long_put("/healthz", 65536);
	_cleanup_free_ char *large = long_put("/healthz", 65537);

	assert_failed(send_raw(api, small), 405, "method not allowed");
	*strstr(large, "{}") = '\0';
	assert_failed(send_raw(api, large), 413,
		      "a body of more than 65536 bytes is for a PUT alone");
}

static void a_put_may_be_a_form(void **state)
{
	struct scripted_api *api = *state;

	api_put(api, "/SCHED",
		"json=%7B%22cmd%22%3A%7B%22probe%22%3A%5B%22runqlat%22%5D%7D%2C%22state%22%3A%22"
		"running%22%7D");
	assert_true(scripted->hists);
}

static void http_1_0_is_answered(void **state)
{
	struct scripted_api *api = *state;

	assert_int_equal(send_raw(api, "GET /healthz HTTP/1.0\r\n\r\n")->status, 200);
}

static void a_client_that_says_nonsense_is_left(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_http_ struct http_client client;

	http_open_at(&client, api->socket);
	http_send(&client, "\x16\x03\x01 hello\r\n\r\n");
	scripted_core_until(&api->core, http_is_answered, &client);
	assert_int_equal(api_get(api, "/healthz")->status, 200);
}

static void a_client_that_goes_before_its_answer_harms_nobody(void **state)
{
	struct scripted_api *api = *state;
	struct http_client client;

	http_open_at(&client, api->socket);
	http_send(&client, "GET /flamegraph HTTP/1.1\r\nHost: localhost\r\n\r\n");
	http_turn(&client);
	http_close(&client);
	assert_int_equal(api_get(api, "/healthz")->status, 200);
}

static void the_port_answers_like_the_socket(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_http_ struct http_client client;
	struct reply reply;

	http_open_port(&client, server_port(api->server));
	http_send(&client, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
	api_answer(api, &client, &reply);
	assert_string_equal(reply.body, "ok\n");
}

struct turns {
	struct http_client *client;
	unsigned left;
};

static bool turns_are_over(void *arg)
{
	struct turns *turns = arg;

	http_turn(turns->client);
	return turns->left-- == 0;
}

static void without_a_descriptor_a_connection_waits_until_there_is_one(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_http_ struct http_client client;
	struct turns turns = {&client, 50};
	struct rlimit limit, none;
	struct reply reply;
	int last;

	http_open_at(&client, api->socket);
	http_send(&client, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true((last = dup(0)) >= 0);
	close(last); /* the first free one */
	none = limit;
	none.rlim_cur = (rlim_t)last;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	scripted_core_until(&api->core, turns_are_over, &turns);
	bool is_answered = client.got.len > 0 || client.ended;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_false(is_answered);
	api_answer(api, &client, &reply);
	assert_int_equal(reply.status, 200);
}

#define NOBODY(test) cmocka_unit_test_setup_teardown(test, api_begin, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NOBODY(a_page_is_found_whatever_its_case),
		NOBODY(what_is_not_there_is_a_404),
		NOBODY(another_method_is_told_which_there_are),
		NOBODY(head_has_the_head_alone),
		NOBODY(no_page_of_another_origin_gets_an_answer),
		NOBODY(a_connection_has_many_requests),
		NOBODY(a_body_has_a_mebibyte_at_most),
		NOBODY(a_body_in_chunks_has_a_mebibyte_at_most),
		NOBODY(a_body_that_is_no_puts_is_dropped_and_bounded),
		NOBODY(a_put_may_be_a_form),
		NOBODY(http_1_0_is_answered),
		NOBODY(a_client_that_says_nonsense_is_left),
		NOBODY(a_client_that_goes_before_its_answer_harms_nobody),
		NOBODY(without_a_descriptor_a_connection_waits_until_there_is_one),
		NOBODY(the_port_answers_like_the_socket),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
