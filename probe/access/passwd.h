/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads users from this host's /etc/passwd. No name service (NSS) is asked: it may hang. */
#pragma once

#include <sys/types.h>

/* Returns the group in the first line that has the user; GID_UNKNOWN (proc/permission.h) if none of
 * the first 10,000 lines has the user. */
gid_t passwd_group(uid_t uid);

/* Writes the name of the user in that line, cut to `bytes` bytes with the NUL; the number where
 * there is none. */
void passwd_user(uid_t uid, char *name, size_t bytes);
