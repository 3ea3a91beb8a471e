/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the map `held` (bpf/shared/allocations.h) by its descriptor, bit by bit, on any thread.
 */
#pragma once

#include <stdbool.h>

#include "bpf/shared/allocations.h"

/*
 * Calls each() for all entries; what comes or goes meanwhile may be among them or not, and what
 * stays surely is. Those for which it says false are removed: it is asked shortly before. Negative
 * errno of the map, -ENOMEM: a part was read.
 */
int tracer_held_read(int fd,
		     bool (*each)(void *arg, const struct allocation_key *key,
				  const struct allocation *allocation),
		     void *arg);
