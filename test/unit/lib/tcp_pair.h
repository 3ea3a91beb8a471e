/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A TCP connection of this process with itself over loopback. */
#pragma once

#include "unit/lib/unit.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "access/sock_diag.h"

enum tcp_kind { TCP_V4, TCP_V6, TCP_MAPPED };

struct tcp_pair {
	int listener, client, server;	      /* -1: closed */
	struct sockaddr_storage theirs, ours; /* as the server's end has them */
	socklen_t bytes;
};

/* Gives the program a network of its own, if it may: what is read of /proc/net/tcp is bounded, and
 * the tests that ran before may have left thousands of sockets in the host's. */
static inline void own_network(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	if (unshare(CLONE_NEWNET) < 0)
		return;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0);
	close(fd);
}

static inline socklen_t loopback(struct sockaddr_storage *name, int family, bool mapped)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)name;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)name;

	memset(name, 0, sizeof(*name));
	name->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*v4);
	}
	v6->sin6_addr = in6addr_loopback;
	if (mapped)
		v6->sin6_addr = in6addr_any;
	return sizeof(*v6);
}

static inline void tcp_pair_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void tcp_pair_done(struct tcp_pair *pair)
{
	tcp_pair_close(&pair->client);
	tcp_pair_close(&pair->server);
	tcp_pair_close(&pair->listener);
}

/* TCP_MAPPED: a client of IPv4 and a server of both. False: there is no IPv6 here. */
static inline bool tcp_pair_listen(struct tcp_pair *pair, enum tcp_kind kind)
{
	struct sockaddr_storage name;
	int family = kind == TCP_V4 ? AF_INET : AF_INET6, no = 0;
	socklen_t bytes = loopback(&name, family, kind == TCP_MAPPED);

	*pair = (struct tcp_pair){-1, -1, -1, .bytes = bytes};
	pair->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (kind == TCP_MAPPED)
		setsockopt(pair->listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (pair->listener < 0 || bind(pair->listener, (struct sockaddr *)&name, bytes) < 0 ||
	    listen(pair->listener, 8) < 0)
		return false;
	return true;
}

/* The client's end, connected. */
static inline void tcp_pair_begin(struct tcp_pair *pair, enum tcp_kind kind)
{
	struct sockaddr_storage name, bound;
	socklen_t bytes = sizeof(bound);

	assert_int_equal(getsockname(pair->listener, (struct sockaddr *)&bound, &bytes), 0);
	bytes = loopback(&name, kind == TCP_V6 ? AF_INET6 : AF_INET, false);
	/* the port stands at the same place in both */
	((struct sockaddr_in *)&name)->sin_port = ((struct sockaddr_in *)&bound)->sin_port;
	pair->client = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(pair->client, (struct sockaddr *)&name, bytes), 0);
}

/* The server's end. */
static inline void tcp_pair_accept(struct tcp_pair *pair)
{
	socklen_t bytes;

	pair->server = accept(pair->listener, NULL, NULL);
	assert_true(pair->server >= 0);
	bytes = sizeof(pair->theirs);
	assert_int_equal(getpeername(pair->server, (struct sockaddr *)&pair->theirs, &bytes), 0);
	bytes = sizeof(pair->ours);
	assert_int_equal(getsockname(pair->server, (struct sockaddr *)&pair->ours, &bytes), 0);
}

static inline void tcp_pair_connect(struct tcp_pair *pair, enum tcp_kind kind)
{
	tcp_pair_begin(pair, kind);
	tcp_pair_accept(pair);
}
