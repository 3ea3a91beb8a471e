/* SPDX-License-Identifier: GPL-2.0-only */
/* podman's API at its local socket, where somebody runs it. */
#pragma once

#include "container/state.h"

/* Asks for a pod's name by its id, for 2 s at most. `pod` stays as it was where there is no answer
 * that has this pod. A user's own socket is in the host's /run, too. */
void podman_api_pod(const struct state_root *root, const char *pod_id,
		    char pod[CONTAINER_NAME_MAX]);
