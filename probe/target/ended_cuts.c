// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/ended_cuts.h"

#include <string.h>

#include "base/clock.h"
#include "target/target_table.h"

#define PART_NS (300 * NS_PER_S)

static void add_cut(struct ended_cuts_part *part, const struct ended_cut *cut)
{
	struct ended_cut *to = part->each;
	struct ended_cut *last = &part->each[ENDED_CUTS_MAX - 1];

	while (to < part->each + part->count && to < last &&
	       memcmp(to->comm, cut->comm, sizeof(to->comm)) != 0)
		to++;
	if (to == part->each + part->count) {
		part->count++;
		memcpy(to->comm, cut->comm, sizeof(to->comm));
	}
	if (to == last)
		memset(to->comm, 0, sizeof(to->comm));
	to->processes += cut->processes;
	to->from_code += cut->from_code;
	for (int i = 0; i < TRUNCATED_COUNT; i++)
		to->truncated[i] += cut->truncated[i];
}

void ended_cuts_add(struct ended_cuts *cuts, const struct target *target, uint64_t now_ns)
{
	struct ended_cut cut = {.processes = 1, .from_code = target->from_code};
	uint64_t sum = 0;

	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++)
		sum += target->truncated[i];
	if (!sum)
		return;
	memcpy(cut.comm, target->comm, sizeof(cut.comm));
	memcpy(cut.truncated, target->truncated, sizeof(cut.truncated));
	if (now_ns - cuts->began_ns >= PART_NS) {
		cuts->before = cuts->now;
		if (now_ns - cuts->began_ns >= 2 * PART_NS)
			cuts->before.count = 0;
		memset(&cuts->now, 0, sizeof(cuts->now));
		cuts->began_ns = now_ns;
	}
	add_cut(&cuts->now, &cut);
}

void ended_cuts_sum(const struct ended_cuts *cuts, uint64_t now_ns, struct ended_cuts_part *sum)
{
	memset(sum, 0, sizeof(*sum));
	if (now_ns - cuts->began_ns >= 2 * PART_NS)
		return;
	for (size_t i = 0; i < cuts->before.count && now_ns - cuts->began_ns < PART_NS; i++)
		add_cut(sum, &cuts->before.each[i]);
	for (size_t i = 0; i < cuts->now.count; i++)
		add_cut(sum, &cuts->now.each[i]);
}
