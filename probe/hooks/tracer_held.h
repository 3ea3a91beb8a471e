/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the kernel's map of allocations, `held` (bpf/shared/allocations.h), by its descriptor, in
 * batches. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "bpf/shared/allocations.h"

/*
 * Calls each() for all entries. Entries that come or go meanwhile may be among them or not; entries
 * that stay are. Removes those for which each() returns false, soon after that. Returns 0, a
 * negative errno of the map or -ENOMEM; then only a part was read.
 */
int tracer_held_read(int fd,
		     bool (*each)(void *arg, const struct allocation_key *key,
				  const struct allocation *allocation),
		     void *arg);
