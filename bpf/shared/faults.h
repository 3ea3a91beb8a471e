/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a page fault added to its process's resident memory. No event has it: a program before the
 * fault notes the counters, one after it takes the difference (bpf/fault.bpf.c).
 *
 * Since Linux 6.2 each CPU has its own part of a process's counters, which is added to the sum, and
 * is 0 again, when it would come to `batch` pages (percpu_counter_add_batch()). Before, each thread
 * has its own part, which is added to the sum at the begin of every 66th try of a fault; huge pages
 * are added to the sum at once. Most faults are tried once. A write to a shared page that isn't
 * there was tried twice until 6.0: the first one brings the page, the second one finds it.
 */
#pragma once

#include "bpf/shared/sample.h"

#define RSS_FILE	   0 /* include/linux/mm_types_task.h, enum MM_FILEPAGES … */
#define RSS_ANON	   1
#define RSS_SHMEM	   3
#define RSS_KINDS	   4

#define RSS_EVENTS_MAX	   64  /* mm/memory.c, TASK_RSS_EVENTS_THRESH */
#define FAULT_AROUND_PAGES 16  /* that one fault maps of a file at most, and not as one page */
#define FAULT_PAGES_MAX	   512 /* larger ones are all taken */

/* A process's counters, in pages. */
struct resident {
	int64_t sum[RSS_KINDS];
	int32_t own[RSS_KINDS]; /* this CPU's part, or this thread's */
	int32_t events;		/* (before 6.2) tries of faults since that was added to the sum */
	uint32_t pad;
};

/* How likely a fault of so many pages is taken, and what it weighs then. */
struct fault_chance {
	uint64_t bytes;
	uint32_t last; /* it is taken if a random number is not above this */
	uint32_t pad;
};

/* Told by the daemon. One table is in use while the other one is written. */
struct fault_settings {
	uint32_t table;
	uint32_t pad;
	struct fault_chance chances[2][FAULT_PAGES_MAX + 1];
};

/* What a huge page is, and when a CPU's own part is added to the sum. */
struct fault_sizes {
	int32_t huge_pages, batch;
};

static inline __attribute__((always_inline)) int is_power_of_two(int64_t n)
{
	return n > 0 && !(n & (n - 1));
}

/*
 * By the CPU's own part. Where the sum didn't change it says all. Where it did, this CPU has added
 * its part to it, or another one its own, or both: then the least that makes a part full is known,
 * and large ones are powers of two.
 */
static inline __attribute__((always_inline)) int32_t
grown_by_cpu(int32_t before, int32_t after, int64_t summed, const struct fault_sizes *sizes)
{
	int64_t mine = (int64_t)after - before, whole = mine + summed;
	int64_t least = (int64_t)sizes->batch - before;

	if (!summed || (after && mine >= -1))
		return mine;
	if (whole >= sizes->huge_pages)
		return sizes->huge_pages;
	if (whole == -1 || (mine < 0 && whole > 0 && whole <= FAULT_AROUND_PAGES))
		return whole;
	if (!after && whole > FAULT_AROUND_PAGES && is_power_of_two(whole))
		return whole;
	if (mine >= -1) /* it was another CPU */
		return mine;
	for (int64_t pages = 1; pages < 1024; pages *= 2) {
		if (pages >= least)
			return pages;
	}
	return sizes->huge_pages;
}

/* When in a fault the thread's own part was added to the sum. */
enum part_added { ADDED_NOT, ADDED_FIRST, ADDED_AGAIN };

/* A try adds it when there were more than RSS_EVENTS_MAX before it. */
static inline __attribute__((always_inline)) enum part_added
part_added(const struct resident *before, const struct resident *after)
{
	if (after->events > before->events)
		return ADDED_NOT;
	return before->events > RSS_EVENTS_MAX ? ADDED_FIRST : ADDED_AGAIN;
}

/* By the thread's own part. When the first try adds it, nothing of this fault is in it yet; when
 * another one does, it may have the page that a try before has brought. */
static inline __attribute__((always_inline)) int64_t grown_by_task(int32_t before, int32_t after,
								   int64_t summed,
								   enum part_added added,
								   const struct fault_sizes *sizes)
{
	int64_t mine = added ? after : (int64_t)after - before;
	int64_t rest = added ? summed - before : summed;

	if (mine)
		return mine;
	if (rest >= sizes->huge_pages)
		return sizes->huge_pages;
	return added == ADDED_AGAIN && rest > 0;
}

/* What kind of memory it was, and how much of it. PART_ALL: none was added. */
static inline __attribute__((always_inline)) enum count_part
fault_part(const int32_t grown[RSS_KINDS], const struct fault_sizes *sizes, uint32_t *pages)
{
	if (grown[RSS_ANON] > 0) {
		*pages = grown[RSS_ANON];
		if (grown[RSS_FILE] < 0 || grown[RSS_SHMEM] < 0)
			return PART_COW;
		return grown[RSS_ANON] >= sizes->huge_pages ? PART_THP : PART_ANON;
	}
	if (grown[RSS_FILE] > 0) {
		*pages = grown[RSS_FILE];
		return PART_FILE;
	}
	*pages = grown[RSS_SHMEM] > 0 ? grown[RSS_SHMEM] : 0;
	return *pages ? PART_SHMEM : PART_ALL;
}
