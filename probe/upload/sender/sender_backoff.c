// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/sender/sender_backoff.h"

#include "base/hash.h"
#include "loop/retry.h"

void backoff_init(struct backoff *backoff, const struct backoff_times *times)
{
	*backoff = (struct backoff){.times = *times, .random = hash_seed() | 1};
}

void backoff_reset(struct backoff *backoff, uint64_t now_ns)
{
	backoff->failing = false;
	backoff->row = backoff->failures = 0;
	backoff->not_before_ns = 0;
	backoff->failed_ns = now_ns;
}

/* xorshift64 */
static uint64_t next_random(struct backoff *backoff)
{
	uint64_t x = backoff->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return backoff->random = x;
}

uint64_t backoff_wait_ns(struct backoff *backoff, unsigned failures, uint64_t most_ns,
			 uint64_t told_ns)
{
	uint64_t wait_ns = retry_wait(failures, backoff->times.first_ns, most_ns);

	wait_ns -= next_random(backoff) % (wait_ns / 2 + 1);
	if (told_ns > backoff->times.told_most_ns)
		told_ns = backoff->times.told_most_ns;
	return wait_ns > told_ns ? wait_ns : told_ns;
}

void backoff_answered(struct backoff *backoff, uint64_t begun_ns)
{
	if (begun_ns >= backoff->failed_ns)
		backoff_reset(backoff, backoff->failed_ns);
}

static void add_failure(struct backoff *backoff, uint64_t now_ns, uint64_t most_ns,
			uint64_t told_ns)
{
	backoff->failing = true;
	backoff->failed_ns = now_ns;
	backoff->failures++;
	backoff->not_before_ns =
		now_ns + backoff_wait_ns(backoff, backoff->failures, most_ns, told_ns);
}

void backoff_server_failed(struct backoff *backoff, uint64_t begun_ns, uint64_t now_ns,
			   uint64_t told_ns)
{
	if (begun_ns >= backoff->failed_ns)
		add_failure(backoff, now_ns, backoff->times.most_ns, told_ns);
}

void backoff_body_failed(struct backoff *backoff, uint64_t begun_ns, uint64_t now_ns)
{
	if (begun_ns < backoff->failed_ns)
		return;
	backoff->row++;
	if (backoff->failing || backoff->row >= BACKOFF_ROW)
		add_failure(backoff, now_ns, backoff->times.row_most_ns, 0);
}
