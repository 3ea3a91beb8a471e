/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list of child processes that have not ended in time, which are waited for later, without
 * blocking. Such a child may hang in a file system, or its user may have stopped it, and without
 * CAP_KILL we may not kill another user's process. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* With so many children on the list no further child should be started. */
#define REAPER_LEFT_MAX 64

/* Adds a child to the list. */
void reaper_leave(pid_t child);

/* Calls waitpid() for the children that have ended, and forgets them. Returns how many are left. */
unsigned reaper_bury(void);

/* Calls reaper_bury(). Returns whether fewer than REAPER_LEFT_MAX children are left. */
bool reaper_has_room(void);
