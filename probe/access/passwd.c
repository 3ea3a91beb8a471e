// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/passwd.h"

#include <pwd.h>
#include <stdio.h>

#include "proc/permission.h"

#define LINES_MAX  10000 /* some ms */
#define LINE_BYTES 4096

gid_t passwd_group(uid_t uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	gid_t found = GID_UNKNOWN;
	char text[LINE_BYTES];
	struct passwd line, *got;

	if (!file)
		return GID_UNKNOWN;
	for (int i = 0; i < LINES_MAX && found == GID_UNKNOWN &&
			fgetpwent_r(file, &line, text, sizeof(text), &got) == 0;
	     i++) {
		if (line.pw_uid == uid)
			found = line.pw_gid;
	}
	fclose(file);
	return found;
}
