/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Children that haven't ended yet when their time is over: nobody waits for them. They may hang in
 * somebody's file system, or be stopped by their user, whose processes we may not kill without
 * CAP_KILL. On any thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* With so many there should be no further ones. */
#define REAPER_LEFT_MAX 64

/* Buries it as soon as it has ended. */
void reaper_leave(pid_t child);

/* Buries those that have ended; the number of those that haven't. */
unsigned reaper_bury(void);

/* Whether fewer than REAPER_LEFT_MAX are left. */
bool reaper_has_room(void);
