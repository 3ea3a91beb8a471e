/* SPDX-License-Identifier: GPL-2.0-only */
/* When a process may be asked about its runtime (again): one that has just begun can't answer yet.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct asked {
	bool asking;	/* a job does */
	unsigned tries; /* in vain */
	uint64_t next_ns;
};

/* After the first time it waits, twice as long each time; after many tries it is given up. */
bool asked_may(const struct asked *asked, uint64_t now_ns);
/* The same, without an end: there is an answer, of which a part is missing. */
bool asked_may_again(const struct asked *asked, uint64_t now_ns);

/* It is being asked, or will be: without those that have no end. */
bool asked_goes_on(const struct asked *asked);

void asked_begin(struct asked *asked, uint64_t now_ns);

/* There is an answer, or none. */
void asked_end(struct asked *asked);

/* Another runtime is in the same place. */
void asked_forget(struct asked *asked);
