// SPDX-License-Identifier: GPL-2.0-only
#include "api/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

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
	if (bind(fd, (struct sockaddr *)&name, len) < 0 || listen(fd, 256) < 0 ||
	    getsockname(fd, (struct sockaddr *)&name, &len) < 0)
		return -errno;
	*port = ntohs(name.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
	return TAKE_FD(fd);
}
