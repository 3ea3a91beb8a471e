/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who owns the other end of a TCP connection within this host, as the kernel tells: by
 * NETLINK_SOCK_DIAG (sock_diag(7)); where the kernel has no tcp_diag, by /proc/net/tcp (proc(5)),
 * which doesn't tell the cgroup.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct sock_owner {
	uid_t uid;	 /* of who made the socket */
	uint64_t cgroup; /* the id of its cgroup (v2); 0: not told */
};

/* How the kernel tells it. */
enum sock_way {
	SOCK_BY_NETLINK,
	SOCK_BY_PROC, /* without cgroups */
	SOCK_UNTOLD,
};

/* Tries on a connection to itself over loopback which way there is, and whose that is: our own. */
enum sock_way sock_diag_try(struct sock_owner *ret);

/*
 * Fills in who owns the socket whose own address is `theirs` and whose peer is `ours`, both
 * AF_INET or both AF_INET6. Only of a socket that is connected and that a process holds: of an
 * orphan the kernel says uid 0. Never blocks for longer than the kernel needs to look it up.
 * -ENOENT: there is no such socket; another negative errno: the kernel can't tell.
 */
int sock_diag_owner(enum sock_way way, const struct sockaddr_storage *theirs,
		    const struct sockaddr_storage *ours, struct sock_owner *ret);

/* Whether a socket is connected still: its peer has neither closed nor reset it. */
bool sock_is_established(int fd);
