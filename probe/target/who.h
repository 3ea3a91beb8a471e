/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identity that a target's stacks are recorded under, by what is known of the target now. */
#pragma once

#include <string.h>

#include "target/target_table.h"
#include "stack/records.h"

/*
 * Returns the identity, without a thread. The container is the target's reference, which the loop's
 * thread may drop.
 */
static inline struct record_who who_of_target(const struct target *target)
{
	struct record_who who = {
		.pid = target->pid,
		.start_ticks = target->start_ticks,
		.netns_id = target->netns_id,
		.ns_pid = target->ns_pid,
		.container = target->container,
	};

	memcpy(who.process, target->comm, sizeof(who.process));
	return who;
}
