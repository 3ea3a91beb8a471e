// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/loss_names.h"

static const char *const losses[LOST_COUNT] = {
	[LOST_RING_FULL] = "ring_full",	      [LOST_COUNTS_FULL] = "counts_full",
	[LOST_WALK_BUSY] = "walk_busy",	      [LOST_LIFE_FULL] = "life_ring_full",
	[LOST_TARGETS_FULL] = "targets_full", [LOST_PROCESS_UNKNOWN] = "process_unknown",
	[LOST_SENT_FULL] = "stacks_full",     [LOST_RECORDS_FULL] = "records_full",
	[LOST_GONE_FULL] = "ended_full",      [LOST_STACK_MISSING] = "stack_missing",
	[LOST_READ_FAILED] = "read_failed",   [LOST_HELD_FULL] = "held_full",
	[LOST_MAPPED_FULL] = "mapped_full",   [LOST_PENDING_FULL] = "pending_full",
	[LOST_UNMEASURED] = "unmeasured",     [LOST_CONTAINER_UNKNOWN] = "container_unknown",
};

static const char *const truncations[TRUNCATED_COUNT] = {
	[TRUNCATED_NOT] = "none",
	[TRUNCATED_FRAME_POINTER] = "frame_pointer",
	[TRUNCATED_MEMORY] = "memory",
	[TRUNCATED_DEPTH] = "depth",
	[TRUNCATED_EXEC] = "exec",
	[TRUNCATED_EXITING] = "exiting",
	[TRUNCATED_UNMAPPED] = "unmapped",
	[TRUNCATED_NARROW] = "narrow",
	[TRUNCATED_TABLE_PENDING] = "table_pending",
	[TRUNCATED_NO_TABLE] = "no_table",
	[TRUNCATED_RULE] = "rule",
	[TRUNCATED_REGISTER] = "register",
	[TRUNCATED_ADDRESS] = "address",
	[TRUNCATED_ORDER] = "order",
	[TRUNCATED_PYTHON_DEPTH] = "python_depth",
	[TRUNCATED_PYTHON] = "python",
	[TRUNCATED_JAVA] = "java",
	[TRUNCATED_FROZEN] = "frozen",
};

const char *loss_name(enum loss loss)
{
	return losses[loss];
}

const char *truncation_name(enum truncation truncation)
{
	return truncations[truncation];
}
