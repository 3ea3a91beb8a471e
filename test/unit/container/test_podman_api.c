// SPDX-License-Identifier: GPL-2.0-or-later
/* podman's socket, with a server behind it that says what the test tells it to. */
#include "unit/lib/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "base/libcurl.h"
#include "unit/container/container_scene.h"

#define SOCKET "run/podman/podman.sock"

struct server {
	const char *begin;  /* before it, once */
	const char *answer; /* NULL: none */
	bool endless;	    /* it goes on and on */
	atomic_bool stop;
	int fd;
	pthread_t thread;
	char asked[1024];
	uint64_t sent;
};

static void answer(struct server *server, int fd)
{
	size_t len = 0;

	while (!strstr(server->asked, "\r\n\r\n")) {
		ssize_t n = recv(fd, server->asked + len, sizeof(server->asked) - 1 - len, 0);

		if (n <= 0)
			return;
		len += (size_t)n;
		server->asked[len] = '\0';
	}
	if (server->begin)
		send(fd, server->begin, strlen(server->begin), MSG_NOSIGNAL);
	if (server->answer)
		send(fd, server->answer, strlen(server->answer), MSG_NOSIGNAL);
	while (server->endless && !server->stop) {
		ssize_t n = send(fd, server->answer, strlen(server->answer), MSG_NOSIGNAL);

		if (n < 0)
			return;
		server->sent += (uint64_t)n;
	}
	while (!server->answer && !server->stop)
		usleep(10000);
}

static void *serve(void *user)
{
	struct server *server = user;

	while (!server->stop) {
		int fd = accept(server->fd, NULL, NULL);

		if (fd < 0)
			return NULL;
		answer(server, fd);
		close(fd);
	}
	return NULL;
}

static void server_start_at(struct server *server, const struct folder *root, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	scene_folders(root, path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", root->path, path);
	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->fd, (void *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server->fd, 4), 0);
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_start(struct server *server, const struct folder *root)
{
	server_start_at(server, root, SOCKET);
}

static void server_stop(struct server *server)
{
	server->stop = true;
	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->fd);
}

#define LIST "[{\"id\":\"" A "\",\"names\":[\"web\"],\"metadata\":\"{}\"}]"

/* What the container is named, and its pod, which is "" where the server tells no name. */
static void check(struct server *server, const char *pod)
{
	_cleanup_folder_ struct folder root;

	folder_make(&root);
	scene_put(&root, CONTAINERS, LIST);
	server_start(server, &root);
	_cleanup_container_ struct container *read = scene_read(&root, CONTAINER_PODMAN, A, POD);
	server_stop(server);
	assert_string_equal(read->name, "web");
	assert_string_equal(read->pod, pod);
	assert_string_equal(read->place.pod_uid, POD);
}

#define OK "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"

static void the_api_tells_the_name_of_a_pod(void **state)
{
	struct server server = {.answer = OK "{\"Id\":\"" POD
					     "\",\"Name\":\"shop\",\"State\":\"Running\"}"};

	(void)state;
	check(&server, "shop");
	assert_has(server.asked, "GET /v4.0.0/libpod/pods/" POD "/json HTTP/1.1\r\n");
}

static void an_answer_of_another_pod_or_of_none_is_not_taken(void **state)
{
	static const char *const answers[] = {
		OK "{\"Id\":\"" A "\",\"Name\":\"shop\"}",
		OK "{\"Name\":\"shop\"}",
		OK "{\"Id\":\"" POD "\",\"Name\":\"../shop\"}",
		OK "{\"Id\":\"" POD "\",\"Name\":7}",
		OK "{\"Id\":\"" POD "\",\"Name\":\"shop\"",
		OK,
		OK "[[[[[",
		"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n{\"Id\":\"" POD
		"\",\"Name\":\"shop\"}",
		"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n",
		"{\"Id\":\"" POD "\",\"Name\":\"shop\"}",
		"\xff\xfe",
		"\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		check(&(struct server){.answer = answers[i]}, "");
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void a_server_that_never_answers_is_waited_for_two_seconds(void **state)
{
	uint64_t began = now_ms();

	(void)state;
	check(&(struct server){.answer = NULL}, "");
	assert_true(now_ms() - began >= 1900); /* it did wait, and it did end */
}

static void an_answer_without_end_is_given_up(void **state)
{
	char body[4096] = OK;
	struct server endless = {.answer = body, .endless = true};
	struct server headers = {
		.begin = "HTTP/1.1 200 OK\r\n", .answer = "X-More: and more\r\n", .endless = true};

	(void)state;
	memset(body + strlen(body), ' ', sizeof(body) - 1 - strlen(body));
	check(&endless, "");
	assert_true(endless.sent < 2 << 20);
	check(&headers, "");
	assert_true(headers.sent < 2 << 20);
}

static void what_lies_at_the_sockets_place_may_be_no_socket(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, CONTAINERS, LIST);
	scene_folders(&root, SOCKET);
	for (int kind = 0; kind < 3; kind++) {
		if (kind == 0)
			assert_int_equal(mkfifoat(root.fd, SOCKET, 0644), 0);
		else if (kind == 1)
			folder_put(&root, SOCKET, "x", 1);
		else
			assert_int_equal(symlinkat("podman.sock", root.fd, SOCKET), 0);
		_cleanup_container_ struct container *read =
			scene_read(&root, CONTAINER_PODMAN, A, POD);
		scene_is(read, "web", "", "", "");
		assert_int_equal(unlinkat(root.fd, SOCKET, 0), 0);
	}
}

static void a_socket_that_nobody_listens_at_tells_nothing(void **state)
{
	struct server server = {.answer = NULL};
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, CONTAINERS, LIST);
	server_start(&server, &root);
	server_stop(&server);
	_cleanup_container_ struct container *read = scene_read(&root, CONTAINER_PODMAN, A, POD);
	scene_is(read, "web", "", "", "");
}

/* Who would be started by that, each time. */
static void a_name_that_is_read_again_asks_nobody_for_the_pods(void **state)
{
	struct server server = {.answer = "HTTP/1.1 500 No\r\n\r\n"};
	_cleanup_folder_ struct folder root;
	_cleanup_container_ struct container *known = NULL, *now = NULL;
	struct container_place place = scene_place(CONTAINER_PODMAN, A, POD);

	(void)state;
	folder_make(&root);
	scene_put(&root, CONTAINERS, LIST);
	server_start(&server, &root);
	assert_int_equal(container_new(&known, &place, "before", "pod", NULL, "an/image:1"), 0);
	assert_int_equal(container_names_again(&now, root.path, known), 0);
	scene_is(now, "web", "pod", "", "an/image:1");
	assert_string_equal(now->place.pod_uid, POD);
	assert_string_equal(server.asked, "");
	server_stop(&server);
}

static int give_to(const char *path, const struct stat *stat, int flag, struct FTW *ftw)
{
	(void)stat, (void)flag, (void)ftw;
	return getuid() ? 0 : lchown(path, 1000, 1000);
}

/* Without root privileges podman keeps all that is a user's in the user's folders. */
static void the_server_of_a_user_is_asked_for_the_pods_of_that_user(void **state)
{
	struct server server = {.answer = OK "{\"Id\":\"" POD "\",\"Name\":\"shop\"}"};
	struct container_place place = scene_place(CONTAINER_PODMAN, A, POD);
	_cleanup_folder_ struct folder root;
	char socket_path[64], home[80];

	(void)state;
	place.user = getuid() ? getuid() : 1000;
	folder_make(&root);
	snprintf(socket_path, sizeof(socket_path), "run/user/%u/podman/podman.sock", place.user);
	server_start_at(&server, &root, socket_path);
	scene_put(&root,
		  "home/me/.local/share/containers/storage/overlay-containers/containers.json",
		  LIST);
	snprintf(home, sizeof(home), "%s/home/me", root.path);
	assert_int_equal(nftw(home, give_to, 16, FTW_PHYS), 0);
	snprintf(home, sizeof(home), "%s/run/user/%u", root.path, place.user);
	assert_int_equal(nftw(home, give_to, 16, FTW_PHYS), 0);
	_cleanup_container_ struct container *read = scene_read_place(&root, &place);
	server_stop(&server);
	assert_string_equal(read->name, "web");
	assert_string_equal(read->pod, "shop");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_api_tells_the_name_of_a_pod),
		cmocka_unit_test(the_server_of_a_user_is_asked_for_the_pods_of_that_user),
		cmocka_unit_test(an_answer_of_another_pod_or_of_none_is_not_taken),
		cmocka_unit_test(a_server_that_never_answers_is_waited_for_two_seconds),
		cmocka_unit_test(an_answer_without_end_is_given_up),
		cmocka_unit_test(what_lies_at_the_sockets_place_may_be_no_socket),
		cmocka_unit_test(a_socket_that_nobody_listens_at_tells_nothing),
		cmocka_unit_test(a_name_that_is_read_again_asks_nobody_for_the_pods),
	};

	if (!libcurl_load()) {
		puts("skipped: libcurl isn't installed (" LIBCURL_PACKAGE ")");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
