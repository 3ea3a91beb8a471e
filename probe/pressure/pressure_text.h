/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of a trigger: how long tasks must be stalled, on what, within which time, and whose
 *tasks:
 *
 *	RESOURCE some|full STALL_US WINDOW_US [CGROUP]
 *	cpu some 300000 2000000
 *	memory full 100000 1000000 /kubepods.slice/x
 *
 * The first four words are those of the kernel's own triggers; "some": at least one task is
 *stalled; "full": all that could run are, at the same time. Source:
 *Documentation/accounting/psi.rst. Pure functions; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/why.h"

#define PRESSURE_WINDOW_MIN_US 500000
#define PRESSURE_WINDOW_MAX_US 10000000
#define PRESSURE_CGROUP_BYTES  1024 /* with the NUL */
#define PRESSURE_WORDS_BYTES   1200 /* of pressure_text_say() */

enum pressure_on { PRESSURE_ON_CPU, PRESSURE_ON_MEMORY, PRESSURE_ON_IO, PRESSURES };

struct pressure_text {
	enum pressure_on on;
	bool full;			    /* all tasks at once; else some task */
	uint32_t stall_us, window_us;	    /* so long, within that time */
	char cgroup[PRESSURE_CGROUP_BYTES]; /* path below the v2 hierarchy; "": the whole host */
};

/* Reads a text. Returns 0, or -EINVAL with what is wrong, and where, in `why`. */
int pressure_text_read(struct pressure_text *text, const char *written, struct why *why);

/* Returns "cpu", "memory" or "io", as in names of files. Static text. */
const char *pressure_name(enum pressure_on on);

/* Returns whether the trigger can never fire: the kernel counts no such time. */
bool pressure_text_is_idle(const struct pressure_text *text);

/* Says what the trigger waits for: "some tasks stalled on cpu for 300 ms within 2000 ms, …". */
void pressure_text_say(const struct pressure_text *text, char *words, size_t bytes);
