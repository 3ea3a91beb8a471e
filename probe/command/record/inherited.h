/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inherited umask and limit of open files, which the program changes for itself. The command
 * that `record` starts gets the original values back. Main thread only.
 */
#pragma once

#include <sys/types.h>

/* Keeps the original values; to be called first in main(). Opens /dev/null for each standard
 * descriptor that is closed, so that no file of ours gets its number; the command finds it
 * closed. */
void inherited_keep(void);

mode_t inherited_umask(void);

/* Restores the original values, in a child before its exec. */
void inherited_restore(void);
