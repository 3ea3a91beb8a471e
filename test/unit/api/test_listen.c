// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/folder.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "api/http/listen.h"

static void path_in(const struct folder *folder, char path[108], const char *name)
{
	snprintf(path, 108, "%s/%s", folder->path, name);
}

/* 0 or a negative errno. */
static int connect_to(const char *path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	return connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0 ? -errno : 0;
}

static void everybody_may_connect_to_the_socket(void **state)
{
	const mode_t before = umask(0177);
	_cleanup_folder_ struct folder folder;
	struct stat stat;
	char path[108];

	(void)state;
	folder_make(&folder);
	path_in(&folder, path, "api.sock");
	int fd = listen_at(path);
	umask(before);
	assert_true(fd >= 0);
	assert_int_equal(lstat(path, &stat), 0);
	assert_true(S_ISSOCK(stat.st_mode));
	assert_int_equal(stat.st_mode & 07777, 0666);
	assert_int_equal(connect_to(path), 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void its_folder_is_made_but_none_above_it(void **state)
{
	const mode_t before = umask(0077);
	_cleanup_folder_ struct folder folder;
	struct stat stat;
	char path[108];

	(void)state;
	folder_make(&folder);
	path_in(&folder, path, "run/api.sock");
	int fd = listen_at(path);
	umask(before);
	assert_true(fd >= 0);
	assert_int_equal(fstatat(folder.fd, "run", &stat, 0), 0);
	assert_int_equal(stat.st_mode & 07777, 0755);
	close(fd);
	path_in(&folder, path, "a/b/api.sock");
	assert_int_equal(listen_at(path), -ENOENT);
	assert_false(folder_has(&folder, "a"));
}

static void what_a_daemon_that_is_gone_has_left_is_replaced(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[108];

	(void)state;
	folder_make(&folder);
	path_in(&folder, path, "api.sock");
	int fd = listen_at(path);
	assert_true(fd >= 0);
	close(fd); /* without unlink() */
	assert_int_equal(connect_to(path), -ECONNREFUSED);
	fd = listen_at(path);
	assert_true(fd >= 0);
	assert_int_equal(connect_to(path), 0);
	close(fd);
}

static void a_socket_where_somebody_listens_is_left_alone(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[108];

	(void)state;
	folder_make(&folder);
	path_in(&folder, path, "api.sock");
	_cleanup_close_ int fd = listen_at(path);
	assert_int_equal(listen_at(path), -EADDRINUSE);
	assert_int_equal(connect_to(path), 0);
}

static void one_whose_queue_is_full_is_in_use_too(void **state)
{
	_cleanup_folder_ struct folder folder;
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	_cleanup_close_ int busy = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_close_ int waiting = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	folder_make(&folder);
	path_in(&folder, name.sun_path, "api.sock");
	assert_int_equal(bind(busy, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(busy, 0), 0);
	assert_int_equal(connect(waiting, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen_at(name.sun_path), -EADDRINUSE);
}

static void what_is_no_socket_is_left_alone(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[108], target[108];

	(void)state;
	folder_make(&folder);
	folder_put(&folder, "file", "text", 4);
	path_in(&folder, path, "file");
	assert_int_equal(listen_at(path), -ENOTSOCK);
	folder_assert_content(&folder, "file", "text");
	path_in(&folder, target, "file");
	path_in(&folder, path, "link");
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(listen_at(path), -ENOTSOCK);
	assert_true(folder_has(&folder, "link"));
	path_in(&folder, path, "folder");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(listen_at(path), -ENOTSOCK);
}

static void a_folder_where_others_may_write_is_refused(void **state)
{
	static const mode_t modes[] = {0777, 01777, 0775, 0757, 0722};
	_cleanup_folder_ struct folder folder;
	char path[108];

	(void)state;
	folder_make(&folder);
	path_in(&folder, path, "api.sock");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(fchmod(folder.fd, modes[i]), 0);
		assert_int_equal(listen_at(path), -EPERM);
		assert_false(folder_has(&folder, "api.sock"));
	}
	assert_int_equal(listen_at("/tmp/stackprobe-unit.sock"), -EPERM);
	/* one that is made in it is ours */
	assert_int_equal(fchmod(folder.fd, 0777), 0);
	path_in(&folder, path, "own/api.sock");
	_cleanup_close_ int fd = listen_at(path);
	assert_true(fd >= 0);
}

static void a_folder_of_somebody_elses_is_refused(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[108];

	(void)state;
	if (geteuid() != 0)
		skip();
	folder_make(&folder);
	path_in(&folder, path, "api.sock");
	assert_int_equal(fchown(folder.fd, 65534, 65534), 0);
	assert_int_equal(listen_at(path), -EPERM);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
	char path[200];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(listen_at(path), -ENAMETOOLONG);
}

/* ---- sockets that were opened before ---- */

static int tcp(int family)
{
	int port = 0;

	return listen_on(family == AF_INET ? "127.0.0.1" : "::1", &port);
}

/* In a process of its own: what is given is descriptors 3 and up, and each is taken once. */
static void given(const char *pid, const char *count, const int *fds, size_t n, int (*check)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		char own[16];

		for (size_t i = 0; i < n; i++) /* out of the way */
			dup2(fds[i], 200 + (int)i);
		for (size_t i = 0; i < n; i++)
			dup2(200 + (int)i, 3 + (int)i);
		close_range(3 + (unsigned)n, ~0U, 0);
		snprintf(own, sizeof(own), "%d", getpid());
		setenv("LISTEN_PID", pid ? pid : own, 1);
		if (count)
			setenv("LISTEN_FDS", count, 1);
		_exit(check());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int none_is_given(void)
{
	return listen_given(AF_INET) != -ENOENT || listen_given(AF_UNIX) != -ENOENT;
}

static int both_are_given(void)
{
	int tcp_fd = listen_given(AF_INET), unix_fd = listen_given(AF_UNIX);

	if (tcp_fd < 3 || unix_fd < 3 || tcp_fd == unix_fd)
		return 1;
	if (!(fcntl(tcp_fd, F_GETFD) & FD_CLOEXEC) || !(fcntl(tcp_fd, F_GETFL) & O_NONBLOCK))
		return 2;
	return none_is_given(); /* each is taken once */
}

static int second_tcp_is_given(void)
{
	return listen_given(AF_INET) != 4 || listen_given(AF_INET) != -ENOENT;
}

static void those_that_listen_are_taken_once(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[108];

	(void)state;
	folder_make(&folder);
	path_in(&folder, path, "api.sock");
	_cleanup_close_ int v4 = tcp(AF_INET);
	_cleanup_close_ int local = listen_at(path);
	const int one[] = {local, v4}, other[] = {v4, local};

	given(NULL, "2", one, 2, both_are_given);
	given(NULL, "2", other, 2, both_are_given);
	given("1", "2", one, 2, none_is_given); /* another process's */
	given("", "2", one, 2, none_is_given);
	given(NULL, "0", one, 2, none_is_given);
	given(NULL, "-1", one, 0, none_is_given);
	given(NULL, NULL, one, 0, none_is_given);
}

static void what_does_not_listen_is_not_taken(void **state)
{
	_cleanup_close_ int v4 = tcp(AF_INET);
	_cleanup_close_ int idle = socket(AF_INET, SOCK_STREAM, 0);
	_cleanup_close_ int file = open("/dev/null", O_RDONLY);
	const int idle_first[] = {idle, v4}, file_first[] = {file, v4};

	(void)state;
	given(NULL, "2", idle_first, 2, second_tcp_is_given);
	given(NULL, "2", file_first, 2, second_tcp_is_given);
	given(NULL, "2000000000", file_first, 2, second_tcp_is_given);
}

static int one_tcp_is_given(void)
{
	return listen_given(AF_INET) != 3;
}

static void one_of_ipv6_is_one_of_tcp(void **state)
{
	int v6 = tcp(AF_INET6);

	(void)state;
	if (v6 < 0)
		skip();
	given(NULL, "1", &v6, 1, one_tcp_is_given);
	close(v6);
}

static void an_address_is_digits(void **state)
{
	int port = 0;

	(void)state;
	assert_int_equal(listen_on("localhost", &port), -EINVAL);
	assert_int_equal(listen_on("", &port), -EINVAL);
	_cleanup_close_ int fd = listen_on("127.0.0.1", &port);
	assert_true(fd >= 0 && port > 0);
	assert_int_equal(listen_on("127.0.0.1", &port), -EADDRINUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_may_connect_to_the_socket),
		cmocka_unit_test(its_folder_is_made_but_none_above_it),
		cmocka_unit_test(what_a_daemon_that_is_gone_has_left_is_replaced),
		cmocka_unit_test(a_socket_where_somebody_listens_is_left_alone),
		cmocka_unit_test(one_whose_queue_is_full_is_in_use_too),
		cmocka_unit_test(what_is_no_socket_is_left_alone),
		cmocka_unit_test(a_folder_where_others_may_write_is_refused),
		cmocka_unit_test(a_folder_of_somebody_elses_is_refused),
		cmocka_unit_test(a_path_that_is_too_long_is_refused),
		cmocka_unit_test(those_that_listen_are_taken_once),
		cmocka_unit_test(what_does_not_listen_is_not_taken),
		cmocka_unit_test(one_of_ipv6_is_one_of_tcp),
		cmocka_unit_test(an_address_is_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
