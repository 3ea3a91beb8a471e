/* SPDX-License-Identifier: GPL-2.0-only */
/* Roles: what a client may ask for, each with all that the one before it has (doc/security.md). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum role {
	ROLE_METRICS, /* /metrics without series of single processes, /healthz: everybody */
	ROLE_OWN,  /* a user of this host: profiles of the next seconds of the user's own processes
		    */
	ROLE_READ, /* configurations, profiles that exist, series of single processes */
	ROLE_PROFILE, /* profiles of the next seconds, of any process */
	ROLE_ADMIN,   /* PUT */
	ROLES
};

/* As the conf file and answers name it. */
const char *role_name(enum role role);

/* The role of that name; -ENOENT. */
int role_find(const char *name);

/* Who sent a request, as far as that is known. */
struct caller {
	enum role role;
	bool has_uid; /* the kernel tells whose process it is */
	uid_t uid;
	gid_t gid;	     /* GID_UNKNOWN (proc/permission.h): the kernel doesn't tell it */
	bool is_contained;   /* as the peer is (access/peer.h) */
	bool has_credential; /* a token or a certificate, and a good one */
};
