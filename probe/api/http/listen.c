// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BACKLOG 256

/* Source: sd_listen_fds(3) */
#define GIVEN_FIRST 3
#define GIVEN_MAX   64

int listen_on(const char *address, int *port)
{
	struct sockaddr_storage name = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&name;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&name;
	socklen_t len;
	int one = 1;

	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)*port);
		len = sizeof(*v4);
	} else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)*port);
		len = sizeof(*v6);
	} else {
		return -EINVAL;
	}
	_cleanup_close_ int fd =
		socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&name, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&name, &len) < 0)
		return -errno;
	*port = ntohs(name.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
	return TAKE_FD(fd);
}

/* ---- Unix sockets ---- */

/* Checks the folder of a socket: a user who may write there could replace our socket. */
static int check_folder(const char *path)
{
	char copy[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat stat;

	snprintf(copy, sizeof(copy), "%s", path);
	const char *folder = dirname(copy);
	if (mkdir(folder, 0755) == 0) {
		if (chmod(folder, 0755) < 0) /* the umask may have removed bits */
			return -errno;
	} else if (errno != EEXIST) {
		return -errno;
	}
	_cleanup_close_ int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat) < 0)
		return -errno;
	return (stat.st_uid == 0 || stat.st_uid == geteuid()) &&
			       !(stat.st_mode & (S_IWGRP | S_IWOTH))
		       ? 0
		       : -EPERM;
}

/* Removes a socket at which nobody listens any more. */
static int make_room(const struct sockaddr_un *name)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat stat;

	if (lstat(name->sun_path, &stat) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(stat.st_mode))
		return -ENOTSOCK;
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)name, sizeof(*name)) == 0 || errno == EAGAIN)
		return -EADDRINUSE;
	if (errno != ECONNREFUSED)
		return -errno;
	return unlink(name->sun_path) < 0 ? -errno : 0;
}

int listen_at(const char *path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	if ((size_t)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path) >=
	    sizeof(name.sun_path))
		return -ENAMETOOLONG;
	int r = check_folder(path);
	if (r == 0)
		r = make_room(&name);
	if (r < 0)
		return r;
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		return -errno;
	/* Only we can write to the folder, so `path` is still that socket. */
	if (chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0) {
		r = -errno;
		unlink(path);
		return r;
	}
	return TAKE_FD(fd);
}

/* ---- sockets that were opened before ---- */

static unsigned long read_env_number(const char *variable)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 10) : 0;
}

static bool is_listening(int fd, int family)
{
	int yes = 0, its = AF_UNSPEC;
	socklen_t bytes = sizeof(yes), family_bytes = sizeof(its);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &bytes) < 0 || !yes ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &its, &family_bytes) < 0)
		return false;
	return its == family || (family == AF_INET && its == AF_INET6);
}

int listen_given(int family)
{
	static bool taken[GIVEN_MAX];
	unsigned long count = read_env_number("LISTEN_FDS");

	if (read_env_number("LISTEN_PID") != (unsigned long)getpid())
		return -ENOENT;
	for (unsigned long i = 0; i < count && i < GIVEN_MAX; i++) {
		int fd = GIVEN_FIRST + (int)i;

		if (taken[i] || !is_listening(fd, family))
			continue;
		taken[i] = true;
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		return fd;
	}
	return -ENOENT;
}
