/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the folders of containers/storage, the library of podman and CRI-O: by storage.conf, else
 * by the library's defaults. Paths are below `root`. */
#pragma once

#include "container/state.h"

#define STORAGE_DRIVERS 4

struct storage {
	char graph[STATE_PATH_BYTES]; /* the folder of state that outlives a reboot */
	char run[STATE_PATH_BYTES];   /* the folder of state that doesn't */
};

/* Fills in both folders. storage.conf is read for the host only; users have the defaults. */
void storage_find(const struct state_root *root, struct storage *ret);

/* The drivers, whose names folders of containers have: "overlay-containers". overlay is first. */
extern const char *const storage_drivers[STORAGE_DRIVERS];
