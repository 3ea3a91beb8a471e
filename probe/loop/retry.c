// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/retry.h"

#include "loop/loop.h"

#define WAIT_NS	  (10 * NS_PER_MS) /* the wait after the first try */
#define TRIES_MAX 12
#define WAITS_MAX 10 /* doublings of the wait: 10 s at most */

bool retry_may_again(const struct retry *asked, uint64_t now_ns)
{
	return !asked->asking && now_ns >= asked->next_ns;
}

bool retry_may(const struct retry *asked, uint64_t now_ns)
{
	return retry_may_again(asked, now_ns) && asked->tries < TRIES_MAX;
}

bool retry_goes_on(const struct retry *asked)
{
	return asked->asking || asked->tries < TRIES_MAX;
}

void retry_begin(struct retry *asked, uint64_t now_ns)
{
	unsigned waits = asked->tries < WAITS_MAX ? asked->tries : WAITS_MAX;

	asked->asking = true;
	asked->next_ns = now_ns + (WAIT_NS << waits);
	if (asked->tries < TRIES_MAX)
		asked->tries++;
}

void retry_end(struct retry *asked)
{
	asked->asking = false;
}

void retry_forget(struct retry *asked)
{
	asked->tries = 0;
	asked->next_ns = 0;
}
