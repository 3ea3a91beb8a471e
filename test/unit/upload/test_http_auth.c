// SPDX-License-Identifier: GPL-2.0-or-later
/* What a server sees of a request: its headers, and no more than those. */
#include "unit/upload/http_scene.h"

#define WHOLE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static void answers(struct http_server *server, int fd)
{
	while (server_take(server, fd) && server_say(server, fd, server->words))
		;
}

/* The head that came with `auth` is the server's; 0, or what http_post() says. */
static int post(struct http_scene *scene, const struct http_auth *auth, struct told *told)
{
	struct http_post request = scene_request(scene, told, SMALL, TIMEOUT);

	request.auth = auth;
	int r = http_post(scene->http, &request, &told->call);
	if (r == 0)
		scene_run(scene, 1);
	return r;
}

static void assert_not_in(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" stands in: %s", part, text);
}

static void a_request_has_what_it_needs_and_no_more(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};
	char expected[512];

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_run(&scene, 1);
	snprintf(expected, sizeof(expected),
		 "POST /push HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: stackprobe/" VERSION
		 "\r\nAccept: */*\r\nContent-Type: application/proto\r\nContent-Length: %d\r\n\r\n",
		 scene.server.port, SMALL);
	assert_string_equal(scene.server.head, expected);
	scene_end(&scene);
}

static void a_query_is_sent_as_it_stands(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	snprintf(scene.url, sizeof(scene.url),
		 "http://127.0.0.1:%u/push/ingest?name=a%%7Bhost%%3Dh%%7D&from=1&x=%%0d%%0aX:%%20y",
		 scene.server.port);
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_run(&scene, 1);
	assert_has(scene.server.head,
		   "POST /push/ingest?name=a%7Bhost%3Dh%7D&from=1&x=%0d%0aX:%20y HTTP/1.1\r\n");
	scene_end(&scene);
}

static void each_kind_of_authorization_is_sent(void **state)
{
	static const struct {
		struct http_auth auth;
		const char *lines[2];
	} cases[] = {
		{{.user = "Aladdin", .password = "open sesame"},
		 {"\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"}},
		{{.user = "123", .password = ""}, {"\r\nAuthorization: Basic MTIzOg==\r\n"}},
		{{.user = "123"}, {"\r\nAuthorization: Basic MTIzOg==\r\n"}},
		{{.user = "u", .password = "\xc3\xa4:\xff"},
		 {"\r\nAuthorization: Basic dTrDpDr/\r\n"}},
		{{.token = "glc_abc.def+/="}, {"\r\nAuthorization: Bearer glc_abc.def+/=\r\n"}},
		{{.tenant = "team-a"}, {"\r\nX-Scope-OrgID: team-a\r\n"}},
		{{.token = "t", .tenant = "a|b"},
		 {"\r\nAuthorization: Bearer t\r\n", "\r\nX-Scope-OrgID: a|b\r\n"}},
	};
	struct http_scene scene = {0};

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct told told = {0};

		assert_int_equal(post(&scene, &cases[i].auth, &told), 0);
		assert_int_equal(told.status, 200);
		for (size_t j = 0; j < 2 && cases[i].lines[j]; j++)
			assert_has(scene.server.head, cases[i].lines[j]);
	}
	scene_end(&scene);
}

static void the_longest_secrets_are_sent_and_longer_ones_refused(void **state)
{
	char longest[HTTP_SECRET_MAX + 1], longer[HTTP_SECRET_MAX + 2],
		expected[HTTP_SECRET_MAX + 64];
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	memset(longest, 'x', HTTP_SECRET_MAX);
	longest[HTTP_SECRET_MAX] = '\0';
	memset(longer, 'x', HTTP_SECRET_MAX + 1);
	longer[HTTP_SECRET_MAX + 1] = '\0';
	scene_begin(&scene, answers, WHOLE);
	assert_int_equal(post(&scene, &(struct http_auth){.token = longest}, &told), 0);
	snprintf(expected, sizeof(expected), "\r\nAuthorization: Bearer %s\r\n", longest);
	assert_has(scene.server.head, expected);
	told.is_done = false;
	assert_int_equal(
		post(&scene, &(struct http_auth){.user = longest, .password = longest}, &told), 0);
	assert_has(scene.server.head, "eHh4\r\n");
	assert_int_equal(post(&scene, &(struct http_auth){.token = longer}, &told), -EINVAL);
	assert_int_equal(post(&scene, &(struct http_auth){.user = longer}, &told), -EINVAL);
	assert_int_equal(post(&scene, &(struct http_auth){.tenant = longer}, &told), -EINVAL);
	scene_end(&scene);
}

static void what_would_make_other_headers_is_refused(void **state)
{
	static const struct http_auth cases[] = {
		{.token = "a\r\nX-Evil: 1"},
		{.token = "a\nb"},
		{.token = "a\rb"},
		{.token = "a\n"},
		{.token = "\x01"},
		{.token = "a\x7f"},
		{.token = ""},
		{.tenant = "a\nb"},
		{.tenant = ""},
		{.user = "a\nb"},
		{.user = ""},
		{.user = "a:b"},
		{.password = "p"},
		{.user = "u", .token = "t"},
		{.user = "u", .password = "p\r\nX: y"},
	};
	static const char *const types[] = {"a/b\r\nX: y", "", NULL, "a\n"};
	static const char *const urls[] = {
		"",   "127.0.0.1",	   "ftp://h/",		"http://h/a b",
		NULL, "http://h/\r\nX: y", "http://h/\xc3\xa4", "file:///etc/passwd"};
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	unsigned fds = count_fds();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(post(&scene, &cases[i], &told), -EINVAL);
	struct http_post good = scene_request(&scene, &told, SMALL, TIMEOUT);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct http_post bad = good;

		bad.content_type = types[i];
		assert_int_equal(http_post(scene.http, &bad, NULL), -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		struct http_post bad = good;

		bad.url = urls[i];
		assert_int_equal(http_post(scene.http, &bad, NULL), -EINVAL);
	}
	struct http_post empty = good;
	empty.body_bytes = 0;
	assert_int_equal(http_post(scene.http, &empty, NULL), -EINVAL);
	/* Nothing is there for those that were refused. */
	assert_int_equal(count_fds(), fds);
	assert_int_equal(scene.server.accepted, 0);
	scene_end(&scene);
}

static void a_url_with_a_user_is_not_sent(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	snprintf(scene.url, sizeof(scene.url), "http://u:geheim@127.0.0.1:%u/", scene.server.port);
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_run(&scene, 1);
	assert_int_equal(told.outcome, HTTP_NOT_SENT);
	assert_not_in(told.why, "geheim");
	assert_int_equal(scene.server.accepted, 0);
	scene_end(&scene);
}

/* An answer that is what was asked. */
static void repeats(struct http_server *server, int fd)
{
	while (server_take(server, fd)) {
		server_say(server, fd, server->words);
		server_say(server, fd, server->head);
	}
}

static void secrets_stand_in_no_text(void **state)
{
	static const struct http_auth cases[] = {{.user = "u", .password = "geheimnis"},
						 {.token = "geheimnis", .tenant = "t"},
						 {.token = "g"}};
	static const char *const words[] = {"HTTP/1.1 400 No\r\nContent-Length: 50000\r\n\r\n",
					    "HTTP/1.1 xyz\r\n", "geheimnis\r\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(words); j++) {
			struct http_scene scene = {0};
			struct told told = {0};
			struct http_post request;

			scene_begin(&scene, repeats, words[j]);
			request = scene_request(&scene, &told, SMALL, 500);
			request.auth = &cases[i];
			assert_int_equal(http_post(scene.http, &request, NULL), 0);
			scene_run(&scene, 1);
			assert_int_equal(told.outcome, j ? HTTP_UNKNOWN : HTTP_ANSWERED);
			assert_string_equal(told.text, "");
			assert_not_in(told.why, "geheim");
			assert_not_in(told.why, "dTpn"); /* base64 */
			scene_end(&scene);
		}
	}
}

/* ---- proxies ---- */

static void a_proxy_that_the_environment_names_is_asked(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	setenv("http_proxy", scene.url, 1);
	strcpy(scene.url, "http://pyroscope.example:4040/push");
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_run(&scene, 1);
	unsetenv("http_proxy");
	assert_int_equal(told.status, 200);
	assert_has(scene.server.head, "POST http://pyroscope.example:4040/push HTTP/1.1\r\n");
	scene_end(&scene);
}

/* Takes a head alone. */
static void answers_heads(struct http_server *server, int fd)
{
	if (server_take_head(server, fd) && server_say(server, fd, server->words))
		server_wait(server, fd, POLLIN, -1);
}

static void a_proxy_of_https_hears_no_secret_and_is_no_server(void **state)
{
	static const char *const words[] = {"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 400 No\r\n\r\n",
					    "HTTP/1.1 407 Who\r\nContent-Length: 2\r\n\r\nno",
					    "garbage\r\n\r\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct http_scene scene = {0};
		struct told told = {0};

		scene_begin(&scene, answers_heads, words[i]);
		setenv("https_proxy", scene.url, 1);
		strcpy(scene.url, "https://pyroscope.example:4040/push");
		assert_int_equal(post(&scene,
				      &(struct http_auth){.token = "geheim", .tenant = "geheim"},
				      &told),
				 0);
		unsetenv("https_proxy");
		assert_int_equal(told.outcome, HTTP_NOT_SENT);
		assert_has(scene.server.head, "CONNECT pyroscope.example:4040 HTTP/1.1\r\n");
		assert_not_in(scene.server.head, "geheim");
		scene_end(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_has_what_it_needs_and_no_more),
		cmocka_unit_test(a_query_is_sent_as_it_stands),
		cmocka_unit_test(each_kind_of_authorization_is_sent),
		cmocka_unit_test(the_longest_secrets_are_sent_and_longer_ones_refused),
		cmocka_unit_test(what_would_make_other_headers_is_refused),
		cmocka_unit_test(a_url_with_a_user_is_not_sent),
		cmocka_unit_test(secrets_stand_in_no_text),
		cmocka_unit_test(a_proxy_that_the_environment_names_is_asked),
		cmocka_unit_test(a_proxy_of_https_hears_no_secret_and_is_no_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
