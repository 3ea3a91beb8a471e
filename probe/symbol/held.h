/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many of the targets' files are held open: so many that the daemon itself never runs out of
 * descriptors (RLIMIT_NOFILE). Who keeps one takes a place first and gives it back when he closes
 * it. From any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False: there is none left. */
bool held_take(void);
void held_give(void);

/* Whether few are left, so that some should be given back. */
bool held_are_scarce(void);
size_t held_max(void);
