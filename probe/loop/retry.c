// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/retry.h"

#include "loop/loop.h"

#define FIRST_NS   (10 * NS_PER_MS)
#define LONGEST_NS (FIRST_NS << 10)
#define TRIES_MAX  12

uint64_t retry_wait(unsigned tries, uint64_t first, uint64_t longest)
{
	uint64_t wait = first;

	for (unsigned i = 1; i < tries && wait < longest; i++)
		wait *= 2;
	return wait < longest ? wait : longest;
}

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
	asked->asking = true;
	if (asked->tries < TRIES_MAX)
		asked->tries++;
	asked->next_ns = now_ns + retry_wait(asked->tries, FIRST_NS, LONGEST_NS);
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
