/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where an event is in one ELF file: a function by its symbol, a static probe (USDT) by its notes.
 * The file is hostile. May hang: in a job.
 *
 * Source of the notes: SystemTap's sys/sdt.h, version 3.
 */
#pragma once

#include "alloc/uprobes.h"
#include "event/event_text.h"
#include "event/near_names.h"

#define EVENT_POINTS_MAX 128

struct event_points {
	struct uprobe_point all[EVENT_POINTS_MAX];
	size_t count;
	bool stepped; /* one of them at least is where the kernel has to step (event/point_cost.h)
		       */
};

/*
 * Finds an event of a file. `with_return`: the returns are wanted as well, so a point must be where
 * these can be probed. `near` (NULL: not wanted) gets names like that of an event that isn't there.
 * Returns 0, or with a sentence in `why` -ENOENT: the file has no such event; -ENOLINK: it is
 * chosen at a program's start; -ENODATA: it has no such argument; -ENOEXEC: it is no
 * ELF file of this machine; -E2BIG; -ENOTSUP; -EBADMSG; an errno of reading.
 */
int event_points_find(int fd, const struct event_text *event, bool with_return,
		      struct event_points *points, struct near_names *near, struct why *why);
