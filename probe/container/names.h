/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of a container, from its runtime's own state: files on disk, and podman's API socket
 * for a pod's name. All of it is read as hostile (bounded, no link followed but those of the
 * runtime's own folders, no name with '/' or NUL), with limits of time: in a job that may be given
 * up. What doesn't answer or makes no sense is as if it weren't there: the id stays.
 */
#pragma once

#include "container/container.h"

/* `root`: where the host's root is seen: "/", or "/host" in a DaemonSet. Gives a container with
 * the names that were found, perhaps none. -ENOMEM */
int container_names_read(struct container **ret, const char *root,
			 const struct container_place *place);

/* The same once more of one that has a name, for it may have been given another. Its pod keeps its
 * name, and no socket is asked. Without a name: its runtime tells none any more. -ENOMEM */
int container_names_again(struct container **ret, const char *root, const struct container *known);
