/* SPDX-License-Identifier: GPL-2.0-only */
/* The pods of podman: from its database where that is bolt_state.db (up to 4.7), else from its API
 * socket. */
#pragma once

#include "container/storage.h"

/* `pod_id`, of 64 digits, gets the pod's that a container is in; where it has digits already they
 * stay. `pod` gets the name. What isn't told stays as it was. */
void podman_pod_read(const struct state_root *root, const struct storage *storage, const char *id,
		     char pod_id[CONTAINER_ID_BYTES], char pod[CONTAINER_NAME_MAX]);
