// SPDX-License-Identifier: GPL-2.0-only
#include "profile/kind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NO_NAMES "kernel functions have no names"
#define NO_FILES "code of other users' processes has no names"

static const struct kind kinds[PROBE_COUNT] = {
	[PROBE_ONCPU] = {"oncpu",
			 "On-CPU Time Flame Graph",
			 "samples",
			 true,
			 {{CAN_KNOW_TYPES},
			  {CAN_LOCK_MEMORY},
			  {CAN_RAW_TRACEPOINT},
			  {CAN_CPU_CLOCK},
			  {CAN_READ_KERNEL},
			  {CAN_RING_BUFFER},
			  {CAN_MAP_IN_MAP},
			  {CAN_SHARE_MAP},
			  {CAN_READ_BATCH},
			  {CAN_SEE_PIDS},
			  {CAN_NAME_KERNEL, .limit = NO_NAMES},
			  {CAN_READ_MAPS, .limit = NO_FILES},
			  {CAN_OPEN_MAPPED, .limit = NO_FILES}}},
	[PROBE_OFFCPU] = {"offcpu",
			  "Off-CPU Time Flame Graph",
			  "us",
			  false,
			  {{CAN_KNOW_TYPES},
			   {CAN_LOCK_MEMORY},
			   {CAN_TYPED_TRACEPOINT, CAN_RAW_TRACEPOINT},
			   {CAN_RING_BUFFER},
			   {CAN_SEE_PIDS},
			   {CAN_ITERATE_SLEEPABLE,
			    .limit = "threads that wait already when it starts have no stack"},
			   {CAN_NAME_KERNEL, .limit = NO_NAMES},
			   {CAN_READ_MAPS, .limit = NO_FILES},
			   {CAN_OPEN_MAPPED, .limit = NO_FILES}}},
	[PROBE_MEM] = {"mem",
		       "Resident Memory Growth",
		       "bytes",
		       false,
		       {{CAN_KNOW_TYPES},
			{CAN_LOCK_MEMORY},
			{CAN_PAGE_FAULTS},
			{CAN_RING_BUFFER},
			{CAN_SEE_PIDS},
			{CAN_READ_MAPS, .limit = NO_FILES},
			{CAN_OPEN_MAPPED, .limit = NO_FILES}}},
	[PROBE_MEM_GLIBC] = {"mem_glibc",
			     "Memory Allocation",
			     "bytes",
			     false,
			     {{CAN_KNOW_TYPES},
			      {CAN_LOCK_MEMORY},
			      {CAN_UPROBE},
			      {CAN_URETPROBE},
			      {CAN_RING_BUFFER},
			      {CAN_SEE_PIDS},
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

uint32_t kinds_built(void)
{
	uint32_t mask = 0;

	for (int i = 0; i < PROBE_COUNT; i++)
		mask |= kinds[i].built ? 1u << i : 0;
	return mask;
}

static void add_words(char *to, size_t bytes, const char *before, const char *words)
{
	size_t len = strlen(to);

	snprintf(to + len, bytes - len, "%s%s", len ? "; " : before, words);
}

/* "none …" is no remedy. */
static void add_remedy(const struct finding *found, struct finding *finding)
{
	bool is_none = strncmp(found->remedy, "none", 4) == 0;

	if (found->remedy[0] && !is_none && !strstr(finding->remedy, found->remedy))
		add_words(finding->remedy, sizeof(finding->remedy), "", found->remedy);
}

/* What stops it is said without the limits; their remedies stay, for one may be the cause. */
static void add_lack(const struct kind_need *need, const struct finding *found,
		     struct finding *finding)
{
	if (finding->state != FINDING_NO)
		finding->reason[0] = '\0';
	finding->state = FINDING_NO;
	add_words(finding->reason, sizeof(finding->reason), "it needs ",
		  capability_row(need->what)->name);
	add_remedy(found, finding);
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

void kind_judge(const struct kind *kind, const struct finding findings[CAPABILITY_COUNT],
		struct finding *finding)
{
	*finding = (struct finding){.state = FINDING_YES};
	for (int i = 0; i < KIND_NEEDS_MAX && kind->needs[i].what; i++) {
		const struct kind_need *need = &kind->needs[i];
		const struct finding *found = &findings[need->what];
		bool met = need->instead && findings[need->instead].state != FINDING_NO;

		if (found->state == FINDING_NO && !met && !need->limit)
			add_lack(need, found, finding);
		else if (found->state != FINDING_YES)
			add_limit(need, found, finding);
	}
	if (finding->state == FINDING_NO && !finding->remedy[0])
		snprintf(finding->remedy, sizeof(finding->remedy), "none is known");
}
