/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out from the kernel who is at the other end of a connection. Called once a connection, when
 * it is accepted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "access/cgroup_id.h"
#include "access/sock_diag.h"

/* What this kernel can tell about peers over loopback TCP. */
struct peer_means {
	enum sock_way way;
	enum cgroup_sight sight;
	uint64_t own_cgroup; /* the id of our own cgroup; 0: not known */
};

/* What shall be found out. */
struct peer_question {
	bool loopback_uid;	 /* the peer's user, over loopback TCP too */
	struct peer_means means; /* for loopback_uid */
	bool has_group;		 /* on the Unix socket: whether the peer is in `group` */
	gid_t group;
};

struct peer {
	bool is_unix;
	bool has_uid; /* the peer's user is known, and the peer is in our own container and user
			 namespace */
	uid_t uid;
	gid_t gid;	       /* GID_UNKNOWN: not known, as over TCP */
	bool in_group;	       /* in the question's group; only on the Unix socket */
	bool is_contained;     /* the peer is in another container (TCP) or user namespace (Unix
				  socket), or may be */
	unsigned char key[20]; /* the quota's owner (access/client.h): the user, else the address */
};

/* Finds out what the kernel can tell, on a connection of our own. */
void peer_try(struct peer_means *ret);

/* Fills in the peer of `fd`. Flags of facts that can't be found out are false. */
void peer_find(int fd, const struct peer_question *question, struct peer *ret);
