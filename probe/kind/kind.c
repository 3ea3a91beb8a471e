// SPDX-License-Identifier: GPL-2.0-or-later
#include "kind/kind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KIND_ROW(number, name) [PROBE_##number] = &probe_##name,

static const struct kind *const kinds[PROBE_COUNT] = {PROBE_LIST(KIND_ROW)};

const struct kind *kind_get(enum probe probe)
{
	return kinds[probe];
}

int kind_find(const char *name)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct kind_slot *slot = kinds[i]->slot;

		if ((!slot || slot->is_named) && strcasecmp(kinds[i]->name, name) == 0)
			return i;
	}
	return -ENOENT;
}

bool kind_exists(enum probe probe)
{
	const struct kind_slot *slot = kinds[probe]->slot;

	return !slot || slot->word[0];
}

void kind_define(enum probe probe, const char *word)
{
	struct kind_slot *slot = kinds[probe]->slot;

	slot->is_named = true;
	snprintf(slot->word, sizeof(slot->word), "%s", word);
	snprintf(slot->name, sizeof(slot->name), "event:%s", slot->word);
	snprintf(slot->title, sizeof(slot->title), "Event %s", slot->word);
	snprintf(slot->folder, sizeof(slot->folder), "event:%s.time", slot->word);
	snprintf(slot->second_title, sizeof(slot->second_title), "Time in %s", slot->word);
	snprintf(slot->series, sizeof(slot->series), "event_%s", slot->word);
	for (char *c = slot->series; *c; c++)
		*c = *c == '-' ? '_' : *c; /* a metric's name has none */
	snprintf(slot->app, sizeof(slot->app), "stackprobe-event-%s", slot->word);
}

void kind_undefine(enum probe probe)
{
	kinds[probe]->slot->is_named = false;
}

bool kind_is_free(enum probe probe, uint64_t now_ns)
{
	const struct kind_slot *slot = kinds[probe]->slot;

	return slot && !slot->is_on && now_ns >= slot->free_ns;
}

enum probe kind_of_clock(void)
{
	enum probe probe = 0;

	while (probe < PROBE_COUNT - 1 && !kinds[probe]->by_period)
		probe++;
	return probe;
}

enum probe kind_of_heap(void)
{
	enum probe probe = 0;

	while (probe < PROBE_COUNT - 1 && !kinds[probe]->holds)
		probe++;
	return probe;
}

uint32_t kinds_at_switch(void)
{
	uint32_t probes = 0;

	for (int i = 0; i < PROBE_COUNT; i++)
		probes |= kinds[i]->at_switch ? 1u << i : 0;
	return probes;
}

uint32_t kinds_recorded(void)
{
	uint32_t probes = 0;

	for (int i = 0; i < PROBE_COUNT; i++)
		probes |= kinds[i]->recorded_max ? 1u << i : 0;
	return probes;
}

uint64_t kind_weight(enum probe probe, unsigned part, uint64_t weight)
{
	uint64_t unit = part & PART_SECOND ? kinds[probe]->second_unit : kinds[probe]->unit;

	return unit ? weight / unit + (weight % unit != 0) : weight;
}

bool kind_counts_events(enum probe probe, unsigned part)
{
	return !(part & PART_SECOND) || kinds[probe]->second_apart;
}

const struct part_row *kind_part(enum probe probe, unsigned part, struct part_named *room)
{
	const struct kind *kind = kinds[probe];
	unsigned number = part & ~PART_SECOND;

	if (number && number < kind->parts_count)
		return &kind->parts[number];
	return number && kind->name_part ? kind->name_part(number, room) : NULL;
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

/* Judges by what the kernel's types lack. The kernel is what it is: there is no remedy. */
static void judge_types(const struct kind *kind, const struct ktypes *types,
			struct finding *finding)
{
	const char *lack = kind->lack ? kind->lack(types) : "";
	const char *limit = kind->limit ? kind->limit(types) : "";

	if (finding->state == FINDING_NO)
		return;
	if (lack[0]) {
		*finding =
			(struct finding){.state = FINDING_NO, .remedy = "none but another kernel"};
		add_words(finding->reason, sizeof(finding->reason), "", lack);
	} else if (limit[0]) {
		finding->state = FINDING_LIMITED;
		add_words(finding->reason, sizeof(finding->reason), "", limit);
	}
}

void kind_judge(const struct kind *kind, const struct finding findings[CAPABILITY_COUNT],
		const struct ktypes *types, struct finding *finding)
{
	needs_judge(kind->needs, findings, finding);
	if (types)
		judge_types(kind, types, finding);
}

bool kind_unseen(const struct kind *kind, const struct ktypes *types, char text[KIND_UNSEEN_BYTES])
{
	text[0] = '\0';
	if (types && kind->never)
		add_words(text, KIND_UNSEEN_BYTES, "", kind->never);
	if (types && kind->limit && kind->limit(types)[0])
		add_words(text, KIND_UNSEEN_BYTES, "", kind->limit(types));
	return kind->limit || kind->never;
}
