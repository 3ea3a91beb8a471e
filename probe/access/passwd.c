// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/passwd.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>

#include "proc/permission.h"

#define LINES_MAX  10000 /* some ms */
#define LINE_BYTES 4096

/* Finds the user's line, whose texts lie in `text`. */
static bool find_line(uid_t uid, struct passwd *line, char text[LINE_BYTES])
{
	FILE *file = fopen("/etc/passwd", "re");
	bool found = false;
	struct passwd *got;

	if (!file)
		return false;
	for (int i = 0;
	     i < LINES_MAX && !found && fgetpwent_r(file, line, text, LINE_BYTES, &got) == 0; i++)
		found = line->pw_uid == uid;
	fclose(file);
	return found;
}

gid_t passwd_group(uid_t uid)
{
	char text[LINE_BYTES];
	struct passwd line;

	return find_line(uid, &line, text) ? line.pw_gid : GID_UNKNOWN;
}

void passwd_user(uid_t uid, char *name, size_t bytes)
{
	char text[LINE_BYTES];
	struct passwd line;

	if (find_line(uid, &line, text))
		snprintf(name, bytes, "%s", line.pw_name);
	else
		snprintf(name, bytes, "%u", uid);
}
