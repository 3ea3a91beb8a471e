/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the names of a container from its runtime's state: files on disk, and podman's API socket
 * for a pod's name. All of these are hostile: reading is bounded, no link is followed but those of
 * the runtime's own folders, names with '/' or NUL are refused. May hang: in a job. If a file or
 * the socket fails or makes no sense, the container just has no names, only its id.
 */
#pragma once

#include "container/container.h"

/* Makes a container with the names that are found, perhaps none. `root` is the host's root folder
 * as we see it: "/", or "/host" in a DaemonSet. Returns 0, or -ENOMEM. The caller owns *ret. */
int container_names_read(struct container **ret, const char *root,
			 const struct container_place *place);

/* Reads the names of a known container again, since it may have been renamed. The pod keeps its
 * name, and no socket is asked. *ret has no name if the runtime has no name for it any more.
 * Returns 0, or -ENOMEM. The caller owns *ret. */
int container_names_again(struct container **ret, const char *root, const struct container *known);
