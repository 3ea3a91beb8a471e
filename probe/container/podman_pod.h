/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the pod of a podman container: in podman's database if this is bolt_state.db (up to 4.7),
 * else by its API socket. */
#pragma once

#include "container/storage.h"

/* Fills in the id (64 digits) and the name of the pod of container `id`. A pod_id that isn't "" is
 * kept. Values that aren't found are unchanged. */
void podman_pod_read(const struct state_root *root, const struct storage *storage, const char *id,
		     char pod_id[CONTAINER_ID_BYTES], char pod[CONTAINER_NAME_MAX]);
