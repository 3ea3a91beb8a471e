// SPDX-License-Identifier: GPL-2.0-or-later
/* TLS: who is believed, who is let in. The servers are Python's (tls_server.py). */
#include "unit/lib/folder.h"
#include "unit/upload/http_scene.h"

#include <signal.h>
#include <sys/wait.h>

static struct {
	struct folder folder;
	pid_t pid;
	int end_fd; /* closed: the servers end */
	char ports[1024];
	char ca[96], other_ca[96], client[96], client_key[96], stranger[96], stranger_key[96];
	char locked_key[96], rubbish[96], missing[96];
} servers;

static void name_file(char to[96], const char *name)
{
	snprintf(to, 96, "%s/%s", servers.folder.path, name);
}

static void name_files(void)
{
	name_file(servers.ca, "ca.pem");
	name_file(servers.other_ca, "other_ca.pem");
	name_file(servers.client, "client.pem");
	name_file(servers.client_key, "client.key");
	name_file(servers.stranger, "stranger.pem");
	name_file(servers.stranger_key, "stranger.key");
	name_file(servers.locked_key, "locked.key");
	name_file(servers.rubbish, "rubbish.pem");
	name_file(servers.missing, "missing.pem");
}

static int begin_servers(void **state)
{
	int in[2], out[2];
	size_t len = 0;
	ssize_t n;

	(void)state;
	folder_make(&servers.folder);
	name_files();
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	servers.pid = fork();
	if (servers.pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execl("/usr/bin/python3", "python3", "-W", "ignore",
		      "test/unit/upload/tls_server.py", servers.folder.path, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	servers.end_fd = in[1];
	while (!strstr(servers.ports, "ready\n") && len < sizeof(servers.ports) - 1 &&
	       (n = read(out[0], servers.ports + len, sizeof(servers.ports) - 1 - len)) > 0)
		len += (size_t)n;
	close(out[0]);
	return 0;
}

static int end_servers(void **state)
{
	(void)state;
	close(servers.end_fd);
	waitpid(servers.pid, NULL, 0);
	folder_done(&servers.folder);
	return 0;
}

static void post_to(struct http_scene *scene, const char *server, const struct http_auth *auth,
		    size_t bytes, struct told *told)
{
	char line[32];

	if (!strstr(servers.ports, "ready\n")) {
		print_message("no openssl program, or no Python\n");
		skip();
	}
	snprintf(line, sizeof(line), "%s ", server);
	const char *found = strstr(servers.ports, line);
	assert_non_null(found);
	snprintf(scene->url, sizeof(scene->url), "https://127.0.0.1:%s", found + strlen(line));
	scene->url[strcspn(scene->url, "\n")] = '\0';
	struct http_post request = scene_request(scene, told, bytes, 5000);
	request.auth = auth;
	assert_int_equal(http_post(scene->http, &request, NULL), 0);
	scene_run(scene, 1);
}

static void check(const char *server, const struct http_auth *auth, enum http_outcome outcome,
		  const char *said)
{
	struct http_scene scene = {0};
	struct told told = {0};

	scene_begin(&scene, NULL, NULL);
	post_to(&scene, server, auth, SMALL, &told);
	if (told.outcome != outcome)
		fail_msg("%s: %d %s%s", server, told.outcome, told.text, told.why);
	if (said)
		assert_has(told.outcome == HTTP_ANSWERED ? told.text : told.why, said);
	http_close_idle(scene.http);
	scene_end(&scene);
}

static void a_server_of_a_known_ca_is_believed(void **state)
{
	const struct http_auth auth = {.ca_file = servers.ca, .token = "t"};

	(void)state;
	check("here", &auth, HTTP_ANSWERED, "nobody 100");
}

static void any_other_server_is_sent_nothing(void **state)
{
	const struct http_auth none = {0}, right = {.ca_file = servers.ca},
			       wrong = {.ca_file = servers.other_ca},
			       missing = {.ca_file = servers.missing},
			       rubbish = {.ca_file = servers.rubbish};

	(void)state;
	check("here", NULL, HTTP_NOT_SENT, "TLS: ");
	check("here", &none, HTTP_NOT_SENT, "TLS: ");
	check("here", &wrong, HTTP_NOT_SENT, "TLS: ");
	check("here", &missing, HTTP_NOT_SENT, "TLS: ");
	check("here", &rubbish, HTTP_NOT_SENT, "TLS: ");
	check("elsewhere", &right, HTTP_NOT_SENT, "TLS: ");
	check("old", &right, HTTP_NOT_SENT, "TLS: ");
	check("plain", &right, HTTP_NOT_SENT, NULL);
	check("silent", &right, HTTP_NOT_SENT, "Not sent in time");
}

static void a_client_shows_its_certificate(void **state)
{
	const struct http_auth auth = {
		.ca_file = servers.ca, .cert_file = servers.client, .key_file = servers.client_key};

	(void)state;
	check("asks", &auth, HTTP_ANSWERED, "client 100");
	check("asks_by_1.2", &auth, HTTP_ANSWERED, "client 100");
	check("here", &auth, HTTP_ANSWERED, "nobody 100");
}

/* By TLS 1.3 a client hears of it only when it has sent its request. */
static void one_without_the_right_certificate_is_not_answered(void **state)
{
	const struct http_auth none = {.ca_file = servers.ca},
			       wrong = {.ca_file = servers.ca,
					.cert_file = servers.stranger,
					.key_file = servers.stranger_key};
	const struct http_auth *const cases[] = {&none, &wrong};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_scene scene = {0};
		struct told told = {0};

		scene_begin(&scene, NULL, NULL);
		post_to(&scene, "asks", cases[i], SMALL, &told);
		assert_true(told.outcome == HTTP_UNKNOWN || told.outcome == HTTP_NOT_SENT);
		told.is_done = false;
		post_to(&scene, "asks", cases[i], LARGE, &told);
		assert_int_equal(told.outcome, HTTP_NOT_SENT);
		told.is_done = false;
		post_to(&scene, "asks_by_1.2", cases[i], SMALL, &told);
		assert_int_equal(told.outcome, HTTP_NOT_SENT);
		scene_end(&scene);
	}
}

/* Nobody is asked for a password: the test would hang. */
static void a_certificate_that_cannot_be_used_sends_nothing(void **state)
{
	const struct http_auth locked = {.ca_file = servers.ca,
					 .cert_file = servers.client,
					 .key_file = servers.locked_key},
			       other = {.ca_file = servers.ca,
					.cert_file = servers.client,
					.key_file = servers.stranger_key},
			       missing = {.ca_file = servers.ca,
					  .cert_file = servers.missing,
					  .key_file = servers.client_key},
			       rubbish = {.ca_file = servers.ca,
					  .cert_file = servers.rubbish,
					  .key_file = servers.client_key};

	(void)state;
	check("asks", &locked, HTTP_NOT_SENT, "TLS: ");
	check("asks", &other, HTTP_NOT_SENT, "TLS: ");
	check("asks", &missing, HTTP_NOT_SENT, "TLS: ");
	check("asks", &rubbish, HTTP_NOT_SENT, "TLS: ");
}

static void a_large_body_comes_through_and_connections_are_used_again(void **state)
{
	const struct http_auth auth = {.ca_file = servers.ca};
	struct http_scene scene = {0};
	char expected[32];

	(void)state;
	scene_begin(&scene, NULL, NULL);
	snprintf(expected, sizeof(expected), "nobody %u", LARGE);
	for (int i = 0; i < 3; i++) {
		struct told told = {0};

		post_to(&scene, "here", &auth, LARGE, &told);
		assert_int_equal(told.status, 200);
		assert_string_equal(told.text, expected);
	}
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_of_a_known_ca_is_believed),
		cmocka_unit_test(any_other_server_is_sent_nothing),
		cmocka_unit_test(a_client_shows_its_certificate),
		cmocka_unit_test(one_without_the_right_certificate_is_not_answered),
		cmocka_unit_test(a_certificate_that_cannot_be_used_sends_nothing),
		cmocka_unit_test(a_large_body_comes_through_and_connections_are_used_again),
	};

	return cmocka_run_group_tests(tests, begin_servers, end_servers);
}
