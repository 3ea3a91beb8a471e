/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks once a second for the moment at which the recorded processes held most (--view peak), and
 * keeps the profile of it. Loop thread only.
 */
#pragma once

#include "command/core.h"
#include "heap/live_heap.h"

struct peak {
	const struct core *core;
	const struct subscriber *subscriber;
	uint64_t began_ns;
	struct loop_timer look;
	struct profile *most; /* owned; NULL: none was read yet */
	uint64_t most_ns;     /* when it was read, since the begin */
	bool ended;
};

/* Begins to look; core and subscriber are set. */
void peak_begin(struct peak *peak);

/* Compares a reading, whose profile is borrowed, with the most so far. */
void peak_compare(struct peak *peak, struct profile *profile);

/* Ends the looking; what is under way counts no more. */
void peak_end(struct peak *peak);

/* Frees the profile. */
void peak_done(struct peak *peak);
