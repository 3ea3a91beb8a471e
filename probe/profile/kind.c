// SPDX-License-Identifier: GPL-2.0-only
#include "profile/kind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NO_LOOP	 "user stacks have up to 256 frames"
#define NO_NAMES "kernel functions have no names"
#define NO_MAPS	 "processes of other users have no names"

static const struct kind kinds[PROBE_COUNT] = {
	[PROBE_ONCPU] = {"oncpu",
			 "On-CPU Time Flame Graph",
			 "samples",
			 true,
			 {{CAN_KNOW_TYPES},
			  {CAN_RAW_TRACEPOINT},
			  {CAN_CPU_CLOCK},
			  {CAN_READ_KERNEL},
			  {CAN_RING_BUFFER},
			  {CAN_MAP_IN_MAP},
			  {CAN_SHARE_MAP},
			  {CAN_READ_BATCH},
			  {CAN_SEE_PIDS},
			  {CAN_LOOP, .limit = NO_LOOP},
			  {CAN_NAME_KERNEL, .limit = NO_NAMES},
			  {CAN_READ_MAPS, .limit = NO_MAPS}}},
	[PROBE_OFFCPU] = {"offcpu",
			  "Off-CPU Time Flame Graph",
			  "us",
			  false,
			  {{CAN_KNOW_TYPES},
			   {CAN_TYPED_TRACEPOINT, CAN_RAW_TRACEPOINT},
			   {CAN_RING_BUFFER},
			   {CAN_SEE_PIDS},
			   {CAN_LOOP, .limit = NO_LOOP},
			   {CAN_ITERATE_SLEEPABLE,
			    .limit = "threads that wait already when it starts have no stack"},
			   {CAN_NAME_KERNEL, .limit = NO_NAMES},
			   {CAN_READ_MAPS, .limit = NO_MAPS}}},
	[PROBE_MEM] = {"mem",
		       "Resident Memory Growth",
		       "bytes",
		       false,
		       {{CAN_KNOW_TYPES},
			{CAN_PAGE_FAULTS},
			{CAN_RING_BUFFER},
			{CAN_SEE_PIDS},
			{CAN_LOOP, .limit = NO_LOOP},
			{CAN_READ_MAPS, .limit = NO_MAPS}}},
	[PROBE_MEM_GLIBC] = {"mem_glibc",
			     "Memory Allocation",
			     "bytes",
			     false,
			     {{CAN_KNOW_TYPES},
			      {CAN_UPROBE},
			      {CAN_URETPROBE},
			      {CAN_RING_BUFFER},
			      {CAN_SEE_PIDS},
			      {CAN_LOOP, .limit = NO_LOOP},
			      {CAN_READ_MAPS, .limit = NO_MAPS}}},
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

static void add_words(char *to, size_t bytes, const char *words)
{
	size_t len = strlen(to);

	snprintf(to + len, bytes - len, "%s%s", len ? "; " : "", words);
}

/* Takes over one need that isn't met, or not in full. */
static void add_need(const struct kind_need *need, const struct finding *found,
		     const struct finding *instead, struct finding *finding)
{
	char words[sizeof(found->reason) + 64];
	bool met = instead && instead->state != FINDING_NO;
	enum finding_state state = FINDING_NO;

	if (found->state == FINDING_LIMITED || met || need->limit)
		state = met && !need->limit ? FINDING_YES : FINDING_LIMITED;
	if (state == FINDING_YES)
		return;
	snprintf(words, sizeof(words), "%s: %s", capability_row(need->what)->name,
		 found->state == FINDING_NO && need->limit ? need->limit : found->reason);
	/* What stops it is said alone. */
	if (state < finding->state && state == FINDING_NO)
		finding->reason[0] = finding->remedy[0] = '\0';
	if (state > finding->state)
		return;
	finding->state = state;
	add_words(finding->reason, sizeof(finding->reason), words);
	if (found->remedy[0] && !strstr(finding->remedy, found->remedy))
		add_words(finding->remedy, sizeof(finding->remedy), found->remedy);
}

void kind_judge(const struct kind *kind, const struct finding findings[CAPABILITY_COUNT],
		struct finding *finding)
{
	*finding = (struct finding){.state = FINDING_YES};
	for (int i = 0; i < KIND_NEEDS_MAX && kind->needs[i].what; i++) {
		const struct kind_need *need = &kind->needs[i];
		const struct finding *found = &findings[need->what];

		if (found->state != FINDING_YES)
			add_need(need, found, need->instead ? &findings[need->instead] : NULL,
				 finding);
	}
}
