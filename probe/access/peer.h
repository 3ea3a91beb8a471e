/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is at the other end of a connection, by the kernel's word; asked once, when it is accepted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "access/cgroup_id.h"
#include "access/sock_diag.h"

/* What the kernel tells here over loopback. */
struct peer_means {
	enum sock_way way;
	enum cgroup_sight sight;
	uint64_t own_cgroup; /* its id; 0: not told */
};

/* What peers are asked for. */
struct peer_question {
	bool loopback_uid;	 /* over loopback TCP the kernel is asked whose process it is */
	struct peer_means means; /* how */
	bool has_group;		 /* members of `group` are told on the Unix socket */
	gid_t group;
};

struct peer {
	bool is_unix;
	bool has_uid; /* the kernel tells whose process it is, of no other container or user
			 namespace than ours */
	uid_t uid;
	gid_t gid;	       /* GID_UNKNOWN: the kernel doesn't tell it, as over TCP */
	bool in_group;	       /* of the group asked for; only on the Unix socket */
	bool is_contained;     /* it is a process of another container (TCP) or user namespace (Unix
				  socket), or can't be told from one */
	unsigned char key[20]; /* whom its share is booked to: the user, else the address */
};

/* Tries it on a connection to itself. */
void peer_try(struct peer_means *ret);

/* Fills in what is known; what can't be told stays false. */
void peer_find(int fd, const struct peer_question *question, struct peer *ret);
