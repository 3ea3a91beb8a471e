/* SPDX-License-Identifier: GPL-2.0-only */
/* Retry with back-off: when a process may be asked (again) about its runtime. A process that has
 * just begun can't answer yet. Loop thread only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct asked {
	bool asking;	  /* a job asks now */
	unsigned tries;	  /* tries so far, at most 12 */
	uint64_t next_ns; /* not before: CLOCK_MONOTONIC */
};

/* Returns whether to ask now. The wait is 10 ms after the first try, doubles with each try, up to
 * 10 s, and after 12 tries there is no further one. */
bool asked_may(const struct asked *asked, uint64_t now_ns);
/* Like asked_may(), but without a last try: for an answer of which a part is missing. */
bool asked_may_again(const struct asked *asked, uint64_t now_ns);

/* Returns whether a job asks now, or asked_may() will allow a further try. */
bool asked_goes_on(const struct asked *asked);

/* Begins a try. */
void asked_begin(struct asked *asked, uint64_t now_ns);

/* Ends a try, with or without an answer. */
void asked_end(struct asked *asked);

/* Forgets all tries, because another runtime is loaded in the same place. */
void asked_forget(struct asked *asked);
