/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exponential back-off: how long to wait before something that failed is tried again, and when a
 * process may be asked (again) about its runtime, as one that has just begun can't answer yet. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns the wait after so many tries (1, 2, …) in a row: `first`, doubled with each further try,
 * at most `longest`; in the unit of both. */
uint64_t retry_wait(unsigned tries, uint64_t first, uint64_t longest);

/* Tries of asking a process. Loop thread only. */
struct retry {
	bool asking;	  /* a job asks now */
	unsigned tries;	  /* tries so far, at most 12 */
	uint64_t next_ns; /* not before: CLOCK_MONOTONIC */
};

/* Returns whether to ask now. The wait is 10 ms after the first try, doubles with each try, up to
 * 10 s, and after 12 tries there is no further one. */
bool retry_may(const struct retry *asked, uint64_t now_ns);
/* Like retry_may(), but without a last try: for an answer of which a part is missing. */
bool retry_may_again(const struct retry *asked, uint64_t now_ns);

/* Returns whether a job asks now, or retry_may() will allow a further try. */
bool retry_goes_on(const struct retry *asked);

/* Begins a try. */
void retry_begin(struct retry *asked, uint64_t now_ns);

/* Ends a try, with or without an answer. */
void retry_end(struct retry *asked);

/* Forgets all tries, because another runtime is loaded in the same place. */
void retry_forget(struct retry *asked);
