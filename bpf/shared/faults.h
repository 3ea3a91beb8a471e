/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic of page faults: how much resident memory a fault added to its process. No kernel event
 * has this number: a program before the fault reads the counters, and a program after the fault
 * takes the difference (bpf/fault.bpf.c).
 *
 * Since Linux 6.2 each CPU has its own part of a process's counters. The part is added to the sum,
 * and set to 0, when it would reach `batch` pages (percpu_counter_add_batch()). Before 6.2 each
 * thread has its own part, which is added to the sum at the begin of every 66th try of a fault;
 * huge pages are added to the sum at once. Most faults are tried once. Until 6.0 a write to a
 * shared page that is not present was tried twice: the first try brings the page, the second try
 * finds it.
 */
#pragma once

#include "bpf/shared/sample.h"

#define RSS_FILE	   0 /* include/linux/mm_types_task.h, enum MM_FILEPAGES … */
#define RSS_ANON	   1
#define RSS_SHMEM	   3
#define RSS_KINDS	   4

#define RSS_EVENTS_MAX	   64  /* mm/memory.c, TASK_RSS_EVENTS_THRESH */
#define FAULT_AROUND_PAGES 16  /* file pages that one fault maps at most, unless as a huge page */
#define FAULT_PAGES_MAX	   512 /* pages; every larger fault is taken */

/* A process's counters, in pages. */
struct resident {
	int64_t sum[RSS_KINDS];
	int32_t own[RSS_KINDS]; /* the part of this CPU, or of this thread */
	int32_t events; /* before 6.2: tries of faults since the part was added to the sum */
	uint32_t pad;
};

/* How likely a fault of a given number of pages is taken, and its weight then. */
struct fault_chance {
	uint64_t bytes;
	uint32_t last; /* the fault is taken if a 32-bit random number is not above this */
	uint32_t pad;
};

/* Written by the daemon. `table` is the number of the table in use; the daemon writes the other
 * one. */
struct fault_settings {
	uint32_t table;
	uint32_t pad;
	struct fault_chance chances[2][FAULT_PAGES_MAX + 1];
};

/* Pages of a huge page, and the size (pages) at which a CPU's own part is added to the sum. */
struct fault_sizes {
	int32_t huge_pages, batch;
};

static inline __attribute__((always_inline)) int is_power_of_two(int64_t n)
{
	return n > 0 && !(n & (n - 1));
}

/*
 * Returns the pages that a fault added, from the CPU's own part before and after the fault (since
 * 6.2). `summed` is the change of the sum. If the sum didn't change, the CPU's part tells all. Else
 * this CPU has added its part to the sum, or another CPU has added its own, or both. Then the least
 * number of pages that makes a part full is known, and large numbers of pages are powers of two.
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
	if (mine >= -1) /* another CPU changed the sum */
		return mine;
	for (int64_t pages = 1; pages < 1024; pages *= 2) {
		if (pages >= least)
			return pages;
	}
	return sizes->huge_pages;
}

/* When in a fault the thread's own part was added to the sum: never, by the first try, by a later
 * one. */
enum part_added { ADDED_NOT, ADDED_FIRST, ADDED_AGAIN };

/* Returns when the part was added. A try adds the part if more than RSS_EVENTS_MAX tries were
 * before. */
static inline __attribute__((always_inline)) enum part_added
part_added(const struct resident *before, const struct resident *after)
{
	if (after->events > before->events)
		return ADDED_NOT;
	return before->events > RSS_EVENTS_MAX ? ADDED_FIRST : ADDED_AGAIN;
}

/*
 * Returns the pages that a fault added, from the thread's own part before and after the fault
 * (before 6.2). `summed` is the change of the sum. If the first try added the part, the part had
 * nothing of this fault yet; if a later try added the part, the part may have had the page that an
 * earlier try brought.
 */
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

/* Returns the kind of memory that a fault brought, and its size in *pages. PART_ALL: the fault
 * added no memory. */
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
