// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/kind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NO_NAMES    "kernel functions have no names"
#define NO_FILES    "code of other users' processes has no names"
#define ALL_RETURNS "each return of a probed function costs a trap as well"
#define NO_WAITING  "threads that wait already when it starts have no stack"
#define NO_COPIES   "copies of anonymous pages at a write aren't told"

#define ALLOCATED                                                                                  \
	{                                                                                          \
		.values = {{"alloc_objects", "count", PPROF_EVENTS},                               \
			   {"alloc_space", "bytes", PPROF_WEIGHT}},                                \
		.period_type = "space", .period_unit = "bytes"                                     \
	}

static const struct kind kinds[PROBE_COUNT] = {
	[PROBE_ONCPU] = {.name = "oncpu",
			 .title = "On-CPU Time Flame Graph",
			 .count_name = "samples",
			 .for_users = true,
			 .hooks = HOOKS_CLOCK,
			 .pprof = {.values = {{"samples", "count", PPROF_WEIGHT},
					      {"cpu", "nanoseconds", PPROF_PERIODS}},
				   .period_type = "cpu",
				   .period_unit = "nanoseconds"},
			 .needs = {NEEDS_PROGRAMS,
				   {CAN_CPU_CLOCK},
				   NEEDS_DATA,
				   {CAN_NAME_KERNEL, .limit = NO_NAMES},
				   {CAN_READ_MAPS, .limit = NO_FILES},
				   {CAN_OPEN_MAPPED, .limit = NO_FILES}}},
	[PROBE_OFFCPU] = {.name = "offcpu",
			  .title = "Off-CPU Time Flame Graph",
			  .count_name = "us",
			  .for_users = true,
			  .hooks = HOOKS_SWITCHES,
			  .unit = 1000, /* ns */
			  .event_name = "waits",
			  .event_title = "Off-CPU Waits Flame Graph",
			  .pprof = {.values = {{"waits", "count", PPROF_EVENTS},
					       {"off_cpu", "nanoseconds", PPROF_WEIGHT, 1000}},
				    .period_type = "",
				    .period_unit = ""},
			  .needs = {NEEDS_PROGRAMS,
				    {CAN_TYPED_TRACEPOINT},
				    NEEDS_DATA,
				    {CAN_ITERATE_SLEEPABLE, .limit = NO_WAITING},
				    {CAN_NAME_KERNEL, .limit = NO_NAMES},
				    {CAN_READ_MAPS, .limit = NO_FILES},
				    {CAN_OPEN_MAPPED, .limit = NO_FILES}}},
	[PROBE_MEM] = {.name = "mem",
		       .title = "Resident Memory Growth",
		       .count_name = "bytes",
		       .by_bytes = true,
		       .for_users = true,
		       .hooks = HOOKS_FAULTS,
		       .event_name = "faults",
		       .event_title = "Page Faults",
		       .pprof = ALLOCATED,
		       .needs = {NEEDS_PROGRAMS,
				 {CAN_TYPED_TRACEPOINT},
				 {CAN_PAGE_FAULTS},
				 {CAN_FAULT_CODES, .limit = NO_COPIES},
				 NEEDS_DATA,
				 {CAN_NAME_KERNEL, .limit = NO_NAMES},
				 {CAN_READ_MAPS, .limit = NO_FILES},
				 {CAN_OPEN_MAPPED, .limit = NO_FILES}}},
	[PROBE_MEM_GLIBC] = {.name = "mem_glibc",
			     .title = "Memory Allocation",
			     .count_name = "bytes",
			     .by_bytes = true,
			     .hooks = HOOKS_CALLS,
			     .event_name = "objects",
			     .event_title = "Allocated Objects",
			     .pprof = ALLOCATED,
			     .needs = {NEEDS_PROGRAMS,
				       {CAN_UPROBE_SESSION, .instead = CAN_URETPROBE,
					.limit = ALL_RETURNS},
				       NEEDS_DATA,
				       {CAN_READ_MAPS, .limit = NO_FILES},
				       {CAN_OPEN_MAPPED, .limit = NO_FILES}}},
};

const struct kind *kind_get(enum probe probe)
{
	return &kinds[probe];
}

int kind_find(const char *name)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (strcasecmp(kinds[i].name, name) == 0)
			return i;
	}
	return -ENOENT;
}

uint64_t kind_weight(enum probe probe, uint64_t weight)
{
	uint64_t unit = kinds[probe].unit;

	return unit ? weight / unit + (weight % unit != 0) : weight;
}

static void add_words(char *to, size_t bytes, const char *before, const char *words)
{
	size_t len = strlen(to);

	snprintf(to + len, bytes - len, "%s%s", len ? "; " : before, words);
}

/* Adds a remedy, unless it says that there is none. */
static void add_remedy(const struct finding *found, struct finding *finding)
{
	bool is_none = strncmp(found->remedy, "none", 4) == 0;

	if (found->remedy[0] && !is_none && !strstr(finding->remedy, found->remedy))
		add_words(finding->remedy, sizeof(finding->remedy), "", found->remedy);
}

/*
 * Adds a missing need. The reason then leaves out limits; their remedies stay, for one may be the
 * cause.
 */
static void add_lack(const struct kind_need *need, const struct finding findings[CAPABILITY_COUNT],
		     struct finding *finding)
{
	char words[80];

	if (finding->state != FINDING_NO)
		finding->reason[0] = '\0';
	finding->state = FINDING_NO;
	snprintf(words, sizeof(words), "%s%s%s", capability_row(need->what)->name,
		 need->instead ? " or " : "",
		 need->instead ? capability_row(need->instead)->name : "");
	add_words(finding->reason, sizeof(finding->reason), "it needs ", words);
	add_remedy(&findings[need->what], finding);
	if (need->instead)
		add_remedy(&findings[need->instead], finding);
}

static void add_limit(const struct kind_need *need, const struct finding *found,
		      struct finding *finding)
{
	const char *words = found->state == FINDING_NO ? need->limit : found->reason;

	if (finding->state == FINDING_NO || !words)
		return;
	finding->state = FINDING_LIMITED;
	if (!strstr(finding->reason, words))
		add_words(finding->reason, sizeof(finding->reason), "", words);
	add_remedy(found, finding);
}

void needs_judge(const struct kind_need *needs, const struct finding findings[CAPABILITY_COUNT],
		 struct finding *finding)
{
	*finding = (struct finding){.state = FINDING_YES};
	for (int i = 0; i < KIND_NEEDS_MAX && needs[i].what; i++) {
		const struct kind_need *need = &needs[i];
		const struct finding *found = &findings[need->what];
		bool met = need->instead && findings[need->instead].state != FINDING_NO;
		bool must = need->instead || !need->limit;

		if (found->state == FINDING_NO && !met && must)
			add_lack(need, findings, finding);
		else if (found->state != FINDING_YES)
			add_limit(need, found, finding);
	}
	if (finding->state == FINDING_NO && !finding->remedy[0])
		snprintf(finding->remedy, sizeof(finding->remedy), "none is known");
}

void kind_judge(const struct kind *kind, const struct finding findings[CAPABILITY_COUNT],
		struct finding *finding)
{
	needs_judge(kind->needs, findings, finding);
}
