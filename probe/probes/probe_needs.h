/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several probes' rows have in common. Private to probes/. */
#pragma once

#include "kind/kind.h"

/* Limits of rows, in the words of GET and doctor. */
#define NO_NAMES "kernel functions have no names"
#define NO_FILES "code of other users' processes has no names"

/* What each probe needs for the names of its frames. */
/* clang-format off */
#define NEEDS_KERNEL_NAMES {.what = CAN_NAME_KERNEL, .limit = NO_NAMES}
#define NEEDS_FILE_NAMES \
	{.what = CAN_READ_MAPS, .limit = NO_FILES}, {.what = CAN_OPEN_MAPPED, .limit = NO_FILES}
/* clang-format on */

/* The field of a row that has leaf frames for its parts. */
#define PARTS(rows) .parts = (rows), .parts_count = sizeof(rows) / sizeof((rows)[0])

/* Sample types of what allocates. */
#define PPROF_ALLOCATED                                                                            \
	{                                                                                          \
		.values = {{"alloc_objects", "count", PPROF_EVENTS},                               \
			   {"alloc_space", "bytes", PPROF_WEIGHT}},                                \
		.period_type = "space", .period_unit = "bytes"                                     \
	}
