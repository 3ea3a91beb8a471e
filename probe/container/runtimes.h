/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each runtime's own state (doc/containers.md says where it lies and what of it is taken). `place`
 * has an id of 64 digits. True: it knows this container; what isn't told stays as it was.
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
