// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/role.h"

#include <errno.h>
#include <strings.h>

static const char *const names[ROLES] = {
	[ROLE_METRICS] = "metrics", [ROLE_OWN] = "own",	    [ROLE_READ] = "read",
	[ROLE_PROFILE] = "profile", [ROLE_ADMIN] = "admin",
};

const char *role_name(enum role role)
{
	return names[role];
}

int role_find(const char *name)
{
	for (int i = 0; i < ROLES; i++) {
		if (strcasecmp(names[i], name) == 0)
			return i;
	}
	return -ENOENT;
}
