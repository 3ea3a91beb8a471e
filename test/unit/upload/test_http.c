// SPDX-License-Identifier: GPL-2.0-or-later
/* What became of a request, whatever its server does. */
#include "unit/upload/http_scene.h"

#define HEAD_200 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define WHOLE	 HEAD_200 "Content-Length: 2\r\n\r\n{}"
#define HURRY	 300 /* ms; where it has to time out */

/* ---- servers ---- */

static void answers(struct http_server *server, int fd)
{
	while (server_take(server, fd) && server_say(server, fd, server->words))
		;
}

/* Takes the request, says the words, ends. */
static void says_once(struct http_server *server, int fd)
{
	if (server_take(server, fd))
		server_say(server, fd, server->words);
}

static void says_and_hangs(struct http_server *server, int fd)
{
	says_once(server, fd);
	server_wait(server, -1, 0, -1);
}

static void resets_after_all(struct http_server *server, int fd)
{
	struct linger none = {.l_onoff = 1};

	server_take(server, fd);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

static void closes_at_once(struct http_server *server, int fd)
{
	(void)server, (void)fd;
}

static void closes_half_way(struct http_server *server, int fd)
{
	if (server_take_head(server, fd))
		server_take_body(server, fd, server_body_bytes(server) / 2);
}

/* When the body has come. */
static void closes_unread(struct http_server *server, int fd)
{
	if (server_take_head(server, fd))
		server_wait(server, fd, POLLIN, -1);
}

static void reads_nothing(struct http_server *server, int fd)
{
	(void)fd;
	server_wait(server, -1, 0, -1);
}

static void reads_the_head_alone(struct http_server *server, int fd)
{
	server_take_head(server, fd);
	server_wait(server, -1, 0, -1);
}

/* Answers when it has the head, reads the rest all the same. */
static void decides_early(struct http_server *server, int fd)
{
	char rest[65536];

	if (!server_take_head(server, fd) || !server_say(server, fd, server->words))
		return;
	shutdown(fd, SHUT_WR);
	while (server_read(server, fd, rest, sizeof(rest)))
		;
}

static void says_200_and_ends(struct http_server *server, int fd)
{
	if (server_take_head(server, fd))
		server_say(server, fd, WHOLE);
}

/* The words begin an answer, and the last line of them goes on for ever. */
static void says_for_ever(struct http_server *server, int fd)
{
	const char *line = server->words;

	if (!server_take(server, fd))
		return;
	for (const char *next = line; (next = strstr(line, "\r\n")) && next[2]; line = next + 2)
		;
	server_say_bytes(server, fd, server->words, (size_t)(line - server->words));
	while (server_say(server, fd, line))
		;
}

static void says_byte_by_byte(struct http_server *server, int fd)
{
	if (!server_take(server, fd))
		return;
	for (const char *c = server->words; server_wait(server, -1, 0, 20); c += c[1] != '\0') {
		if (!server_say_bytes(server, fd, c, 1))
			return;
	}
}

/* ---- what is made of them ---- */

struct behaviour {
	server_script *script;
	const char *words;
	size_t bytes;
	unsigned timeout_ms;
	enum http_outcome outcome;
	int status;
	const char *text; /* of the answer, or why there is none; NULL: any */
};

static void check(const struct behaviour *behaviour)
{
	struct http_scene scene = {0};
	struct told told = {0};

	scene_begin(&scene, behaviour->script, behaviour->words);
	scene_post(&scene, &told, behaviour->bytes, behaviour->timeout_ms);
	scene_run(&scene, 1);
	if (told.outcome != behaviour->outcome || told.status != behaviour->status)
		fail_msg("\"%.60s\", %zu bytes: outcome %d, status %d, %s %s",
			 behaviour->words ?: "", behaviour->bytes, told.outcome, told.status,
			 told.text, told.why);
	if (behaviour->text)
		assert_has(told.status ? told.text : told.why, behaviour->text);
	/* What is sent for ever isn't read for ever; what the kernel holds comes on top. */
	assert_true(scene.server.said < 16u << 20);
	assert_true(scene.server.accepted <= 1 && scene.server.heads <= 1);
	http_close_idle(scene.http);
	scene_end(&scene);
}

static void check_all(const struct behaviour *behaviours, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(&behaviours[i]);
}

static void what_did_not_go_out_whole_was_not_sent(void **state)
{
	static const struct behaviour behaviours[] = {
		{closes_at_once, NULL, LARGE, TIMEOUT, HTTP_NOT_SENT, 0, NULL},
		{closes_half_way, NULL, LARGE, TIMEOUT, HTTP_NOT_SENT, 0, NULL},
		{reads_nothing, NULL, LARGE, HURRY, HTTP_NOT_SENT, 0, "Not sent in time"},
		{reads_the_head_alone, NULL, LARGE, HURRY, HTTP_NOT_SENT, 0, "Not sent in time"},
		{says_200_and_ends, NULL, LARGE, TIMEOUT, HTTP_NOT_SENT, 0, NULL},
	};

	(void)state;
	check_all(behaviours, ARRAY_SIZE(behaviours));
}

static void what_went_out_whole_and_was_not_answered_is_unknown(void **state)
{
	static const struct behaviour behaviours[] = {
		{says_once, "", LARGE, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_once, "", SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{resets_after_all, NULL, LARGE, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_and_hangs, "", LARGE, 1500, HTTP_UNKNOWN, 0, "No answer in time"},
		{says_and_hangs, "", SMALL, HURRY, HTTP_UNKNOWN, 0, "No answer in time"},
		{says_and_hangs, "HTTP/1.1 200 O", SMALL, HURRY, HTTP_UNKNOWN, 0,
		 "No answer in time"},
		{says_once, "HTTP/1.1 200 O", SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_once, HEAD_200, SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_and_hangs, HEAD_200, SMALL, HURRY, HTTP_UNKNOWN, 0, NULL},
		{says_once, "\x01\x02\xffgarbage\r\n\r\n", SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_once, "\r\n\r\n", SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_once, "SSH-2.0-OpenSSH_9.2\r\n", SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_once, "HTTP/1.1 xyz\r\n\r\n", SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_once, "HTTP/1.1 100 Continue\r\n\r\n", SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_once, "HTTP/1.1 101 Switch\r\n\r\n", SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_once, HEAD_200 "Content-Length: -1\r\n\r\n", SMALL, TIMEOUT, HTTP_UNKNOWN, 0,
		 NULL},
		{closes_unread, NULL, SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
	};

	(void)state;
	check_all(behaviours, ARRAY_SIZE(behaviours));
}

static void what_never_ends_is_cut_off(void **state)
{
	static const struct behaviour behaviours[] = {
		{says_for_ever, HEAD_200 "X-More: and more of it\r\n", SMALL, TIMEOUT, HTTP_UNKNOWN,
		 0, "64 KiB"},
		{says_for_ever, "HTTP/1.1 100 Continue\r\n\r\n", SMALL, TIMEOUT, HTTP_UNKNOWN, 0,
		 NULL},
		{says_for_ever, HEAD_200 "X: one header without an end", SMALL, TIMEOUT,
		 HTTP_UNKNOWN, 0, NULL},
		{says_for_ever, "HTTP/1.1 200 a status without an end", SMALL, TIMEOUT,
		 HTTP_UNKNOWN, 0, NULL},
		{says_for_ever, "no HTTP without an end", SMALL, TIMEOUT, HTTP_UNKNOWN, 0, NULL},
		{says_for_ever, HEAD_200 "\r\nbody", SMALL, TIMEOUT, HTTP_ANSWERED, 200,
		 "bodybodybody"},
		{says_for_ever,
		 HEAD_200 "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n4\r\nbody\r\n", SMALL,
		 TIMEOUT, HTTP_ANSWERED, 200, "body"},
		{says_byte_by_byte, HEAD_200 "X-More: xxx", SMALL, 3 * HURRY, HTTP_UNKNOWN, 0,
		 "No answer in time"},
		{says_byte_by_byte, "HTTP/1.1 500 No\r\n\r\n ", SMALL, 1500, HTTP_ANSWERED, 500,
		 ""},
	};

	(void)state;
	check_all(behaviours, ARRAY_SIZE(behaviours));
}

static void a_status_counts_whatever_becomes_of_the_body_behind_it(void **state)
{
	static const struct behaviour behaviours[] = {
		{answers, WHOLE, SMALL, TIMEOUT, HTTP_ANSWERED, 200, "{}"},
		{answers, WHOLE, LARGE, TIMEOUT, HTTP_ANSWERED, 200, "{}"},
		{answers, WHOLE, 1, TIMEOUT, HTTP_ANSWERED, 200, "{}"},
		{says_once, HEAD_200 "\r\nno length", SMALL, TIMEOUT, HTTP_ANSWERED, 200,
		 "no length"},
		{says_once, HEAD_200 "Content-Length: 1000\r\n\r\n{\"half", SMALL, TIMEOUT,
		 HTTP_ANSWERED, 200, "{\"half"},
		{says_and_hangs, HEAD_200 "Content-Length: 1000\r\n\r\n{\"half", SMALL, HURRY,
		 HTTP_ANSWERED, 200, "{\"half"},
		{says_once, HEAD_200 "Transfer-Encoding: chunked\r\n\r\nzz\r\n", SMALL, TIMEOUT,
		 HTTP_ANSWERED, 200, ""},
		{says_once, HEAD_200 "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8bz",
		 SMALL, TIMEOUT, HTTP_ANSWERED, 200, "?z"},
		{decides_early, "HTTP/1.1 413 Too large\r\nContent-Length: 4\r\n\r\nlong", LARGE,
		 TIMEOUT, HTTP_ANSWERED, 413, "long"},
		{decides_early, WHOLE, LARGE, TIMEOUT, HTTP_ANSWERED, 200, "{}"},
		{says_once, "HTTP/1.1 100 Continue\r\n\r\n" WHOLE, SMALL, TIMEOUT, HTTP_ANSWERED,
		 200, "{}"},
		{says_once, "HTTP/1.0 200 OK\r\n\r\nold", SMALL, TIMEOUT, HTTP_ANSWERED, 200,
		 "old"},
	};

	(void)state;
	check_all(behaviours, ARRAY_SIZE(behaviours));
}

static void each_status_is_told(void **state)
{
	static const int statuses[] = {200, 204, 301, 307, 304, 400, 401, 407, 408,
				       413, 417, 429, 500, 501, 503, 504, 600, 999};
	char words[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct behaviour one = {answers,       words,	    SMALL, TIMEOUT,
					HTTP_ANSWERED, statuses[i], ""};

		snprintf(words, sizeof(words),
			 "HTTP/1.1 %d Because\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
			 statuses[i]);
		check(&one);
	}
}

static void a_server_says_when_to_come_again(void **state)
{
	static const struct {
		const char *said;
		unsigned seconds;
	} cases[] = {{"7", 7},
		     {"3601", 3600},
		     {"999999999", 3600},
		     {"99999999999999999999", 0},
		     {"-1", 0},
		     {"soon", 0},
		     {"Sun, 06 Nov 1994 08:49:37 GMT", 0}};
	char words[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_scene scene = {0};
		struct told told = {0};

		snprintf(words, sizeof(words),
			 "HTTP/1.1 429 Wait\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n",
			 cases[i].said);
		scene_begin(&scene, answers, words);
		scene_post(&scene, &told, SMALL, TIMEOUT);
		scene_run(&scene, 1);
		assert_int_equal(told.status, 429);
		assert_int_equal(told.retry_after_s, cases[i].seconds);
		scene_end(&scene);
	}
}

static void an_answer_is_shown_as_a_line_of_its_beginning(void **state)
{
	static const char *const cases[][2] = {
		{"two\r\n  lines\n", "two lines"},
		{"\t\n", ""},
		{"a\x1b[31mred\x7f\x01", "a [31mred?"},
		{"gr\xc3\xbc\xc3\x9f \xff\xc3", "gr\xc3\xbc\xc3\x9f ??"},
		{"c1 \xc2\x9bx, line \xe2\x80\xa8, turned \xe2\x80\xae, \xe2\x81\xa6",
		 "c1 ?x, line ?, turned ?, ?"},
	};
	char words[4096], body[2001];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct behaviour one = {says_once,     words, SMALL,	  TIMEOUT,
					HTTP_ANSWERED, 400,   cases[i][1]};

		snprintf(words, sizeof(words), "HTTP/1.1 400 No\r\n\r\n%s", cases[i][0]);
		check(&one);
	}
	/* A character that doesn't fit is left out whole or in part told so. */
	memset(body, 'x', sizeof(body) - 1);
	memcpy(body + HTTP_TEXT_MAX - 1, "\xe2\x82\xac", 3);
	body[2000] = '\0';
	struct http_scene scene = {0};
	struct told told = {0};
	snprintf(words, sizeof(words), "HTTP/1.1 400 No\r\n\r\n%s", body);
	scene_begin(&scene, says_once, words);
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_run(&scene, 1);
	assert_int_equal(strlen(told.text), HTTP_TEXT_MAX);
	assert_int_equal(told.text[HTTP_TEXT_MAX - 1], '?');
	scene_end(&scene);
}

static void who_is_not_there_was_not_sent_to(void **state)
{
	static const char *const names[] = {"http://no-such-name.invalid:4040/push",
					    "http://no-such-name.invalid/", "https://x.invalid/"};
	struct http_scene scene = {0};
	struct told refused = {0};
	struct http_server gone = {0};

	(void)state;
	scene_begin(&scene, NULL, NULL);
	gone.family = AF_INET;
	assert_int_equal(server_begin(&gone, closes_at_once, NULL), 0);
	server_end(&gone);
	snprintf(scene.url, sizeof(scene.url), "http://127.0.0.1:%u/", gone.port);
	scene_post(&scene, &refused, SMALL, TIMEOUT);
	scene_run(&scene, 1);
	assert_int_equal(refused.outcome, HTTP_NOT_SENT);
	assert_has(refused.why, "Connection refused");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct told told = {0};

		snprintf(scene.url, sizeof(scene.url), "%s", names[i]);
		scene_post(&scene, &told, SMALL, TIMEOUT);
		scene_run(&scene, 1);
		assert_int_equal(told.outcome, HTTP_NOT_SENT);
	}
	scene_end(&scene);
}

static void the_server_gets_the_body_byte_for_byte(void **state)
{
	static const size_t sizes[] = {1, 1000, 65536, 65537, 1 << 20, LARGE};
	struct http_scene scene = {0};

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct told told = {0};

		scene_post(&scene, &told, sizes[i], TIMEOUT);
		scene_run(&scene, 1);
		assert_int_equal(told.status, 200);
		assert_int_equal(server_body_bytes(&scene.server), sizes[i]);
		assert_true(scene.server.body_sum == sum_bytes(0, scene.body, sizes[i]));
	}
	scene_end(&scene);
}

static void a_server_may_have_an_address_of_ipv6(void **state)
{
	struct http_scene scene = {.server.family = AF_INET6};
	struct http_server probe = {.family = AF_INET6};
	struct told told = {0};

	(void)state;
	if (server_begin(&probe, closes_at_once, NULL) < 0) {
		print_message("no IPv6 here\n");
		skip();
	}
	server_end(&probe);
	scene_begin(&scene, answers, WHOLE);
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_run(&scene, 1);
	assert_int_equal(told.status, 200);
	assert_has(scene.server.head, "\r\nHost: [::1]:");
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_did_not_go_out_whole_was_not_sent),
		cmocka_unit_test(what_went_out_whole_and_was_not_answered_is_unknown),
		cmocka_unit_test(what_never_ends_is_cut_off),
		cmocka_unit_test(a_status_counts_whatever_becomes_of_the_body_behind_it),
		cmocka_unit_test(each_status_is_told),
		cmocka_unit_test(a_server_says_when_to_come_again),
		cmocka_unit_test(an_answer_is_shown_as_a_line_of_its_beginning),
		cmocka_unit_test(who_is_not_there_was_not_sent_to),
		cmocka_unit_test(the_server_gets_the_body_byte_for_byte),
		cmocka_unit_test(a_server_may_have_an_address_of_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
