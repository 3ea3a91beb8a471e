/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks the kernel who owns the other end of a TCP connection within this host: by
 * NETLINK_SOCK_DIAG (sock_diag(7)) or, if the kernel has no tcp_diag, by /proc/net/tcp (proc(5)),
 * which has no cgroups.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct sock_owner {
	uid_t uid;	 /* the user who made the socket */
	uint64_t cgroup; /* the id of the socket's cgroup (v2); 0: not known */
};

/* How the kernel is asked. */
enum sock_way {
	SOCK_BY_NETLINK,
	SOCK_BY_PROC, /* without cgroups */
	SOCK_UNTOLD,  /* there is no way */
};

/* Finds the first way that works, on a loopback connection of our own. Fills in our own user and
 * cgroup. */
enum sock_way sock_diag_try(struct sock_owner *ret);

/*
 * Fills in the owner of the socket whose own address is `theirs` and whose peer is `ours`, both
 * AF_INET or both AF_INET6. The socket must be connected and held by a process: for an orphan the
 * kernel reports uid 0. Blocks no longer than the kernel's look-up takes. Returns 0, or a negative
 * errno: -ENOENT if there is no such socket; another one if the kernel can't tell.
 */
int sock_diag_owner(enum sock_way way, const struct sockaddr_storage *theirs,
		    const struct sockaddr_storage *ours, struct sock_owner *ret);

/* Returns whether a TCP socket is still connected: its peer has neither closed nor reset it. */
bool sock_is_established(int fd);
