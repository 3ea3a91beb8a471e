/* SPDX-License-Identifier: GPL-2.0-only */
/* Users of this host's own /etc/passwd. A name service (NSS) isn't asked: it may hang. */
#pragma once

#include <sys/types.h>

/* The first of these lines that has the user: its group. GID_UNKNOWN (proc/permission.h): none
 * among the first 10,000. */
gid_t passwd_group(uid_t uid);
