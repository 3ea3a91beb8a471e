/* SPDX-License-Identifier: GPL-2.0-only */
/* Where containers/storage keeps its state, of podman and of CRI-O: storage.conf, else its
 * defaults. Paths are below the root that is asked. */
#pragma once

#include "container/state.h"

#define STORAGE_DRIVERS 4

struct storage {
	char graph[STATE_PATH_BYTES]; /* what outlives a boot */
	char run[STATE_PATH_BYTES];
};

void storage_find(const struct state_root *root, struct storage *ret);

/* Its folders of containers have the driver's name: "overlay-containers". overlay first. */
extern const char *const storage_drivers[STORAGE_DRIVERS];
