/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Roles: what a client may ask for. Each role includes those before it (doc/security.md). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum role {
	ROLE_METRICS, /* /metrics without series of single processes, /healthz: everybody */
	ROLE_OWN,     /* a user of this host: profiles on demand of the user's own processes */
	ROLE_READ,    /* configurations, existing profiles, series of single processes */
	ROLE_PROFILE, /* profiles on demand of any process */
	ROLE_ADMIN,   /* PUT */
	ROLES
};

/* Returns the role's name in the conf file and in answers; static. */
const char *role_name(enum role role);

/* Returns the role of that name, in any case, or -ENOENT. */
int role_find(const char *name);

/* The sender of a request, as far as known. */
struct caller {
	enum role role;
	bool has_uid; /* the kernel knows the sender's user */
	uid_t uid;
	gid_t gid;	     /* GID_UNKNOWN (proc/permission.h): not known */
	bool is_contained;   /* as in struct peer (access/peer.h) */
	bool has_credential; /* the request has a good token or certificate */
};
