// SPDX-License-Identifier: GPL-2.0-or-later
/* Connections that are used again, requests side by side, and their ends. */
#include "unit/upload/http_scene.h"

#include <fcntl.h>
#include <sys/utsname.h>

#define WHOLE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static void answers(struct http_server *server, int fd)
{
	while (server_take(server, fd) && server_say(server, fd, server->words))
		;
}

static void answers_once(struct http_server *server, int fd)
{
	if (server_take(server, fd))
		server_say(server, fd, server->words);
}

static void takes_all_and_hangs(struct http_server *server, int fd)
{
	server_take(server, fd);
	server_wait(server, -1, 0, -1);
}

static void reads_nothing(struct http_server *server, int fd)
{
	(void)fd;
	server_wait(server, -1, 0, -1);
}

/* ---- connections that are used again ---- */

static void a_connection_is_used_again(void **state)
{
	struct http_scene scene = {0};

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	for (unsigned i = 0; i < 5; i++) {
		struct told told = {0};

		scene_post(&scene, &told, SMALL, TIMEOUT);
		scene_run(&scene, 1);
		assert_int_equal(told.status, 200);
	}
	assert_int_equal(scene.server.accepted, 1);
	scene_end(&scene);
}

static void one_is_not_used_again_behind_a_refusal(void **state)
{
	struct http_scene scene = {0};

	(void)state;
	scene_begin(&scene, answers, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
	for (unsigned i = 0; i < 3; i++) {
		struct told told = {0};

		scene_post(&scene, &told, SMALL, TIMEOUT);
		scene_run(&scene, 1);
		assert_int_equal(told.status, 500);
	}
	assert_int_equal(scene.server.accepted, 3);
	scene_end(&scene);
}

/* libcurl looks at it before, newer ones (8.22) not if it was used within a second. */
static void one_that_was_closed_meanwhile_is_not(void **state)
{
	struct http_scene scene = {0};

	(void)state;
	scene_begin(&scene, answers_once, WHOLE);
	for (unsigned i = 0; i < 3; i++) {
		struct told told = {0};

		scene_post(&scene, &told, SMALL, TIMEOUT);
		scene_run(&scene, 1);
		assert_int_equal(told.status, 200);
		usleep(1200000);
	}
	assert_int_equal(scene.server.accepted, 3);
	assert_int_equal(scene.server.bodies, 3);
	scene_end(&scene);
}

/* Answers a first request, closes when a second one has come: as a server whose patience ends just
 * then. What it read of it is in its counters. */
static void closes_at_the_second(struct http_server *server, int fd)
{
	if (!server_take(server, fd) || !server_say(server, fd, server->words))
		return;
	server_take(server, fd);
}

static void resets_at_the_second(struct http_server *server, int fd)
{
	struct linger none = {.l_onoff = 1};

	closes_at_the_second(server, fd);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

static void closes_in_the_second(struct http_server *server, int fd)
{
	if (!server_take(server, fd) || !server_say(server, fd, server->words))
		return;
	if (server_take_head(server, fd))
		server_take_body(server, fd, server_body_bytes(server) / 2);
}

/* Its head has come, and nothing of the body was read. */
static void resets_at_the_seconds_head(struct http_server *server, int fd)
{
	struct linger none = {.l_onoff = 1};

	if (!server_take(server, fd) || !server_say(server, fd, server->words))
		return;
	server_take_head(server, fd);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

static void a_body_is_not_sent_again_in_silence(void **state)
{
	static const struct {
		server_script *script;
		size_t bytes;
		enum http_outcome outcome;
		unsigned bodies; /* the first one's comes on top */
	} cases[] = {
		{closes_at_the_second, SMALL, HTTP_UNKNOWN, 1},
		{closes_at_the_second, LARGE, HTTP_UNKNOWN, 1},
		{resets_at_the_second, SMALL, HTTP_UNKNOWN, 1},
		{resets_at_the_second, LARGE, HTTP_UNKNOWN, 1},
		{closes_in_the_second, LARGE, HTTP_NOT_SENT, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_scene scene = {0};
		struct told first = {0}, second = {0};

		scene_begin(&scene, cases[i].script, WHOLE);
		scene_post(&scene, &first, SMALL, TIMEOUT);
		scene_run(&scene, 1);
		assert_int_equal(first.status, 200);
		scene_post(&scene, &second, cases[i].bytes, TIMEOUT);
		scene_run(&scene, 1);
		if (second.outcome != cases[i].outcome)
			fail_msg("case %zu: %d: %s", i, second.outcome, second.why);
		server_end(&scene.server);
		scene.has_server = false;
		assert_int_equal(scene.server.accepted, 1);
		assert_int_equal(scene.server.heads, 2);
		assert_int_equal(scene.server.bodies, 1 + cases[i].bodies);
		scene_end(&scene);
	}
}

/* Then it depends on who is first: the reset or the body. */
static void what_was_sent_anew_is_there_once(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++) {
		struct http_scene scene = {0};
		struct told first = {0}, second = {0};

		scene_begin(&scene, resets_at_the_seconds_head, WHOLE);
		scene_post(&scene, &first, SMALL, TIMEOUT);
		scene_run(&scene, 1);
		scene_post(&scene, &second, 2 * SMALL, TIMEOUT);
		scene_run(&scene, 1);
		server_end(&scene.server);
		scene.has_server = false;
		bool is_answered = second.outcome == HTTP_ANSWERED;
		assert_int_equal(scene.server.bodies, is_answered ? 2 : 1);
		assert_int_equal(scene.server.accepted, is_answered ? 2 : 1);
		if (is_answered)
			assert_true(scene.server.body_sum == sum_bytes(0, scene.body, 2 * SMALL));
		scene_end(&scene);
	}
}

/* ---- side by side ---- */

static void answers_slowly(struct http_server *server, int fd)
{
	while (server_take_head(server, fd) && server_take_body(server, fd, SMALL)) {
		unsigned now = ++server->under_way;

		if (now > server->most)
			server->most = now;
		server_wait(server, -1, 0, 50);
		server->under_way--;
		server->bodies++;
		if (!server_say(server, fd, server->words))
			return;
	}
}

static void four_at_a_time(void **state)
{
	struct http_scene scene = {0};
	struct told told[20] = {0};

	(void)state;
	scene_begin(&scene, answers_slowly, WHOLE);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		scene_post(&scene, &told[i], SMALL, TIMEOUT);
	scene_run(&scene, ARRAY_SIZE(told));
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		assert_int_equal(told[i].status, 200);
	assert_int_equal(scene.server.bodies, ARRAY_SIZE(told));
	assert_true(scene.server.most <= HTTP_AT_ONCE && scene.server.accepted <= HTTP_AT_ONCE);
	scene_end(&scene);
}

static void those_that_wait_run_out_of_time_too(void **state)
{
	struct http_scene scene = {0};
	struct told told[7] = {0};

	(void)state;
	scene_begin(&scene, takes_all_and_hangs, WHOLE);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		scene_post(&scene, &told[i], SMALL, 500);
	scene_run(&scene, ARRAY_SIZE(told));
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		assert_int_not_equal(told[i].outcome, HTTP_ANSWERED);
	scene_end(&scene);
}

/* ---- ends ---- */

static bool at_once(struct http_scene *scene)
{
	(void)scene;
	return true;
}

static bool has_been_connected(struct http_scene *scene)
{
	return scene->server.accepted > 0;
}

static bool has_come_whole(struct http_scene *scene)
{
	return scene->server.bodies > 0;
}

static void a_request_is_called_off_at_any_stage(void **state)
{
	static const struct {
		server_script *script;
		size_t bytes;
		bool (*until)(struct http_scene *scene);
		bool all_sent;
	} cases[] = {
		{takes_all_and_hangs, SMALL, at_once, false},
		{reads_nothing, LARGE, has_been_connected, false},
		{takes_all_and_hangs, SMALL, has_come_whole, true},
		{takes_all_and_hangs, LARGE, has_come_whole, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_scene scene = {0};
		struct told told = {0}, other = {0};

		scene_begin(&scene, cases[i].script, WHOLE);
		unsigned fds = count_fds();
		scene_post(&scene, &told, cases[i].bytes, TIMEOUT);
		scene_let_go(&scene, cases[i].until);
		/* The kernel may have told the server of more than the loop has heard of. */
		scene_let_go(&scene, at_once);
		assert_int_equal(http_cancel(told.call), cases[i].all_sent);
		assert_false(told.is_done);
		http_close_idle(scene.http);
		server_end(&scene.server);
		scene.has_server = false;
		/* Without the server's listening socket and its eventfd. */
		assert_int_equal(count_fds(), fds - 2);
		(void)other;
		scene_end(&scene);
	}
}

static void a_request_whose_name_is_looked_up_is_called_off(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	scene_begin(&scene, NULL, NULL);
	strcpy(scene.url, "http://no-such-name.invalid/");
	for (int i = 0; i < 20; i++) {
		scene_post(&scene, &told, SMALL, TIMEOUT);
		if (i % 2)
			scene_let_go(&scene, at_once);
		if (!told.is_done)
			assert_false(http_cancel(told.call));
		told.is_done = false;
	}
	http_close_idle(scene.http);
	/* The resolver's threads end when they like, and close what is theirs. */
	for (int i = 0; i < 600 && count_fds() > scene.fds + 2; i++)
		usleep(100000);
	scene_end(&scene);
}

static void at_the_end_none_is_answered_any_more(void **state)
{
	struct http_scene scene = {0};
	struct told told[6] = {0};

	(void)state;
	scene_begin(&scene, takes_all_and_hangs, WHOLE);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		scene_post(&scene, &told[i], SMALL, TIMEOUT);
	scene_let_go(&scene, has_come_whole);
	scene_end(&scene);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		assert_false(told[i].is_done);
}

static void nothing_is_left_when_idle_connections_are_closed(void **state)
{
	struct http_scene scene = {0};

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	unsigned before = count_fds();
	http_close_idle(scene.http);
	for (unsigned i = 0; i < 3; i++) {
		struct told told[2] = {0};

		scene_post(&scene, &told[0], SMALL, TIMEOUT);
		scene_run(&scene, 1);
		/* Not while one is under way. */
		scene_post(&scene, &told[1], SMALL, TIMEOUT);
		http_close_idle(scene.http);
		scene_run(&scene, 1);
		assert_int_equal(told[0].status, 200);
		assert_int_equal(told[1].status, 200);
		http_close_idle(scene.http);
		http_close_idle(scene.http);
	}
	/* The server's threads close theirs when they see it. */
	for (int i = 0; i < 600 && count_fds() > before; i++)
		usleep(10000);
	assert_int_equal(count_fds(), before);
	scene_end(&scene);
}

static unsigned fds_at_the_end;

static bool has_closed_all(struct http_scene *scene)
{
	(void)scene;
	return count_fds() == fds_at_the_end;
}

static void what_is_idle_is_closed_by_itself(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	scene_begin(&scene, answers, WHOLE);
	fds_at_the_end = count_fds();
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_run(&scene, 1);
	assert_false(has_closed_all(&scene));
	scene_let_go(&scene, has_closed_all);
	scene_end(&scene);
}

static void assert_all_close_on_exec(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		int fd = atoi(entry->d_name), flags = fcntl(fd, F_GETFD);

		if (fd > STDERR_FILENO && flags >= 0 && !(flags & FD_CLOEXEC))
			fail_msg("descriptor %d", fd);
	}
	closedir(folder);
}

static void programs_that_are_started_get_no_connection(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};
	struct utsname system;
	int major = 0, minor = 0;

	(void)state;
	uname(&system);
	sscanf(system.release, "%d.%d", &major, &minor);
	if (major * 1000 + minor < 5011) {
		print_message("Linux before 5.11\n");
		skip();
	}
	scene_begin(&scene, takes_all_and_hangs, WHOLE);
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_let_go(&scene, has_come_whole);
	fcntl(scene.server.connections[0].fd, F_SETFD, FD_CLOEXEC);
	assert_all_close_on_exec();
	scene_end(&scene);
}

/* ---- inside done() ---- */

static struct told *follower, *pair[2];

static void post_another(struct told *told)
{
	http_close_idle(told->scene->http); /* nothing else is under way */
	scene_post(told->scene, follower, SMALL, TIMEOUT);
}

static void cancel_another(struct told *told)
{
	http_cancel(pair[told == pair[0]]->call);
}

static void the_next_one_may_be_posted_when_one_is_done(void **state)
{
	struct http_scene scene = {0};
	struct told first = {.then = post_another}, second = {0};

	(void)state;
	follower = &second;
	scene_begin(&scene, answers, WHOLE);
	scene_post(&scene, &first, SMALL, TIMEOUT);
	scene_run(&scene, 2);
	assert_int_equal(second.status, 200);
	scene_end(&scene);
}

static void another_may_be_called_off_when_one_is_done(void **state)
{
	struct http_scene scene = {0};
	struct told first = {.then = cancel_another}, second = {.then = cancel_another};

	(void)state;
	pair[0] = &first;
	pair[1] = &second;
	scene_begin(&scene, answers_slowly, WHOLE);
	scene_post(&scene, &first, SMALL, TIMEOUT);
	scene_post(&scene, &second, SMALL, TIMEOUT);
	scene_run(&scene, 1);
	assert_true(first.is_done != second.is_done);
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_used_again),
		cmocka_unit_test(one_is_not_used_again_behind_a_refusal),
		cmocka_unit_test(one_that_was_closed_meanwhile_is_not),
		cmocka_unit_test(a_body_is_not_sent_again_in_silence),
		cmocka_unit_test(what_was_sent_anew_is_there_once),
		cmocka_unit_test(four_at_a_time),
		cmocka_unit_test(those_that_wait_run_out_of_time_too),
		cmocka_unit_test(a_request_is_called_off_at_any_stage),
		cmocka_unit_test(a_request_whose_name_is_looked_up_is_called_off),
		cmocka_unit_test(at_the_end_none_is_answered_any_more),
		cmocka_unit_test(nothing_is_left_when_idle_connections_are_closed),
		cmocka_unit_test(what_is_idle_is_closed_by_itself),
		cmocka_unit_test(programs_that_are_started_get_no_connection),
		cmocka_unit_test(the_next_one_may_be_posted_when_one_is_done),
		cmocka_unit_test(another_may_be_called_off_when_one_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
