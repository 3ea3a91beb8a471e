/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readers of the runtimes' state (doc/containers.md says where it lies and what is read). Each
 * returns whether the runtime knows the container, and fills in the names that it finds; the others
 * are unchanged. place->id must have 64 digits.
 */
#pragma once

#include "container/state.h"

bool docker_names(const struct state_root *root, const struct container_place *place,
		  struct container_names *names);

bool podman_names(const struct state_root *root, const struct container_place *place,
		  struct container_names *names);

bool containerd_names(const struct state_root *root, const struct container_place *place,
		      struct container_names *names);

bool crio_names(const struct state_root *root, const struct container_place *place,
		struct container_names *names);
