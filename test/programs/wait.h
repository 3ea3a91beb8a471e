/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits with a known answer for the test programs. A wait is measured by the program itself:
 * CLOCK_MONOTONIC on both sides of the call, and the thread's count of voluntary switches, for a
 * call need not block.
 *
 * A program stops itself (stand_by()) when it is ready, so that a probe can come first, and again
 * when it has told its answer, so that the kernel's counts of it can be read at rest. A stopped
 * task is in state T, neither S nor D.
 */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "optimized/level.h"

/* What the calls of one kind came to. */
struct waits {
	const char *name;
	uint64_t calls, switches;
	uint64_t sum_ns;   /* of the calls that blocked */
	uint64_t slack_ns; /* of it, what may have been a wait for a CPU outside of the call */
	uint64_t *each_ns; /* those that blocked, in their order; of the first `room` */
	uint64_t count, room;
};

struct wait {
	uint64_t began_ns;
	long voluntary, involuntary;
};

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A list for `room` waits. */
static inline struct waits waits_new(const char *name, uint64_t room)
{
	struct waits waits = {.name = name, .room = room};

	waits.each_ns = calloc(room ? room : 1, sizeof(uint64_t));
	if (!waits.each_ns)
		abort();
	return waits;
}

BURN_INLINE struct wait wait_begin(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (struct wait){.voluntary = usage.ru_nvcsw,
			     .involuntary = usage.ru_nivcsw,
			     .began_ns = monotonic_ns()};
}

/* Adds what has passed since wait_begin(). `least_ns`: it can't have blocked for less. */
BURN_INLINE void wait_end(struct waits *waits, const struct wait *wait, uint64_t least_ns)
{
	uint64_t took_ns = monotonic_ns() - wait->began_ns;
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	waits->calls++;
	if (usage.ru_nvcsw == wait->voluntary)
		return;
	waits->switches += (uint64_t)(usage.ru_nvcsw - wait->voluntary);
	waits->sum_ns += took_ns;
	if (usage.ru_nivcsw != wait->involuntary && took_ns > least_ns)
		waits->slack_ns += took_ns - least_ns;
	if (waits->count < waits->room)
		waits->each_ns[waits->count++] = took_ns;
}

/* "name": {…}, as a member of a JSON object. */
static inline void waits_print(const struct waits *waits)
{
	printf("\"%s\": {\"calls\": %" PRIu64 ", \"switches\": %" PRIu64 ", \"sum_ns\": %" PRIu64
	       ", \"slack_ns\": %" PRIu64 ", \"each_ns\": [",
	       waits->name, waits->calls, waits->switches, waits->sum_ns, waits->slack_ns);
	for (uint64_t i = 0; i < waits->count; i++)
		printf("%s%" PRIu64, i ? "," : "", waits->each_ns[i]);
	printf("]}");
}

/* Stops the process until SIGCONT. What was printed is out. */
LEVEL static void stand_by(void)
{
	fflush(stdout);
	raise(SIGSTOP);
}

/* The rest of the answer, the end of its line, and a rest. */
static inline void answer_end(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf(", \"voluntary\": %ld, \"involuntary\": %ld}\n", usage.ru_nvcsw, usage.ru_nivcsw);
	stand_by();
}

/* Sleeps in the calling function for at least that long. */
BURN_INLINE void sleep_ns(struct waits *waits, uint64_t ns)
{
	struct timespec length = {.tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u)};
	struct wait wait = wait_begin();

	keep_frame();
	while (nanosleep(&length, &length) < 0 && errno == EINTR)
		;
	wait_end(waits, &wait, ns);
}
