/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client of podman's API at its local socket, for hosts on which the service runs. */
#pragma once

#include "container/state.h"

/* Asks for a pod's name by its id, for at most 2 s. `pod` is unchanged if there is no answer with
 * this pod. A user's socket lies in the host's /run, too. */
void podman_api_pod(const struct state_root *root, const char *pod_id,
		    char pod[CONTAINER_NAME_MAX]);
