/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the program was started with and changes for itself: the umask and the limit of open files.
 * A command that it starts gets the original ones.
 */
#pragma once

#include <sys/types.h>

/* To be called first of all. Where one of the three standard descriptors is closed, /dev/null takes
 * its place, so that nothing of ours does; a command finds it closed. */
void inherited_keep(void);

mode_t inherited_umask(void);

/* Puts the originals back; in a child before it execs. */
void inherited_restore(void);
