/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callers COUNT: main -> short_caller -> helper and main -> long_caller -> helper, in turn. Both
 * callers have frames of one size and call from one place, so helper blocks with the same
 * registers: only what lies on the stack tells them apart. short_caller's waits are of 1 ms,
 * long_caller's of 3 ms.
 */
#define _GNU_SOURCE
#include "wait.h"

LEVEL static void helper(struct waits *waits, uint64_t ns)
{
	sleep_ns(waits, ns);
}

LEVEL static void short_caller(struct waits *waits, uint64_t ns)
{
	helper(waits, ns);
}

LEVEL static void long_caller(struct waits *waits, uint64_t ns)
{
	helper(waits, ns);
}

int main(int argc, char **argv)
{
	void (*callers[])(struct waits *, uint64_t) = {short_caller, long_caller};
	uint64_t lengths_ns[] = {1000000, 3000000};
	uint64_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	struct waits waits[] = {waits_new("short_caller", count), waits_new("long_caller", count)};

	stand_by();
	for (uint64_t i = 0; i < 2 * count; i++)
		callers[i % 2](&waits[i % 2], lengths_ns[i % 2]);
	printf("{");
	waits_print(&waits[0]);
	printf(", ");
	waits_print(&waits[1]);
	answer_end();
	return 0;
}
