// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/session_events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "event/arg_place.h"
#include "event/event_text.h"
#include "kind/kind.h"
#include "loop/loop.h"

#define PREFIX "event:"

_Static_assert(sizeof(struct event_settings) <= sizeof(union probe_settings),
	       "PROBE_SETTINGS_BYTES");

struct event_settings *events_at(const struct params *params, unsigned slot)
{
	return (struct event_settings *)(void *)&params->probes[PROBE_SLOT_FIRST + slot];
}

/* Returns the slot of a name, or -ENOENT. */
static int slot_of(const struct params *params, const char *word)
{
	for (unsigned i = 0; params && i < PROBE_SLOTS_COUNT; i++) {
		const char *its = events_at(params, i)->word;

		if (its[0] && strcasecmp(its, word) == 0)
			return (int)i;
	}
	return -ENOENT;
}

int events_find(const struct params *params, const char *name)
{
	size_t prefix = strlen(PREFIX);
	int slot = strncasecmp(name, PREFIX, prefix) == 0 ? slot_of(params, name + prefix) : -1;

	return slot < 0 ? -ENOENT : PROBE_SLOT_FIRST + slot;
}

void events_clear(struct params *params)
{
	memset(&params->probes[PROBE_SLOT_FIRST], 0, PROBE_SLOTS_COUNT * sizeof(params->probes[0]));
}

void events_copy(struct params *params, const struct params *from)
{
	memcpy(&params->probes[PROBE_SLOT_FIRST], &from->probes[PROBE_SLOT_FIRST],
	       PROBE_SLOTS_COUNT * sizeof(params->probes[0]));
}

static bool is_word(const char *word)
{
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return len > 0 && len < EVENT_WORD_BYTES && !word[len];
}

/* Returns the slot whose probe is still called by that name, though nobody names it any more; or
 * -ENOENT. Two probes of one name would be taken for each other. */
static int last_slot_of(const struct params *params, const char *word)
{
	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++) {
		if (!events_at(params, i)->word[0] &&
		    strcmp(kind_get(PROBE_SLOT_FIRST + i)->slot->word, word) == 0)
			return (int)i;
	}
	return -ENOENT;
}

/* Returns a slot for a new name: one that never had another name, else one that is free again. */
static int choose_slot(const struct params *params, const struct params *before, struct why *why)
{
	int named = 0, left_out = 0, found = -1;

	for (int i = PROBE_SLOTS_COUNT - 1; i >= 0; i--) {
		enum probe probe = PROBE_SLOT_FIRST + i;

		if (events_at(params, (unsigned)i)->word[0]) {
			named++;
			continue;
		}
		if (before && events_at(before, (unsigned)i)->word[0]) {
			left_out++;
			continue;
		}
		if (!kind_is_free(probe, loop_now_ns()))
			continue;
		if (found < 0 || !kind_exists(probe) || kind_exists(PROBE_SLOT_FIRST + found))
			found = i;
	}
	if (found >= 0)
		return found;
	if (named == PROBE_SLOTS_COUNT) {
		why_set(why, "params.events has more than %d events", PROBE_SLOTS_COUNT);
		return -E2BIG;
	}
	why_set(why, "params.events: all %d places of events are taken%s", PROBE_SLOTS_COUNT,
		left_out ? ", for those that this body leaves out have not ended: leave them out "
			   "first, and name others a minute later"
			 : " by others, which end or ended less than a minute ago: try again in a "
			   "minute");
	return -EBUSY;
}

int events_add(struct params *params, const struct params *before, const char *word,
	       const char *what, struct why *why)
{
	struct event_text text;
	struct why wrong;
	int slot;

	if (!is_word(word)) {
		why_set(why,
			"params.events: the name %.64s must be 1 to 32 of the letters a-z, 0-9, _ "
			"and -",
			word);
		return -EINVAL;
	}
	if (event_text_read(&text, what, &wrong) < 0) {
		why_set(why, "params.events.%s invalid value: %s", word, wrong.text);
		return -EINVAL;
	}
	if (text.arg && text.type != EVENT_USDT && !arg_place_of(&text)) {
		why_set(why, "params.events.%s: the argument %u is in no register", word, text.arg);
		return -EINVAL;
	}
	slot = slot_of(params, word);
	if (slot < 0)
		slot = slot_of(before, word);
	if (slot < 0)
		slot = last_slot_of(params, word);
	if (slot < 0)
		slot = choose_slot(params, before, why);
	if (slot < 0)
		return slot;
	struct event_settings *event = events_at(params, (unsigned)slot);
	snprintf(event->word, sizeof(event->word), "%s", word);
	snprintf(event->what, sizeof(event->what), "%s", what);
	return 0;
}

void events_settle(struct params *params)
{
	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++) {
		struct event_settings *event = events_at(params, i);

		event->time = event->word[0] ? params->event_time : 0;
		event->min_us = event->word[0] ? params->event_min_us : 0;
	}
}

uint32_t events_unnamed(const struct params *params)
{
	uint32_t probes = 0;

	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++)
		probes |= events_at(params, i)->word[0] ? 0 : 1u << (PROBE_SLOT_FIRST + i);
	return probes;
}

void events_define(const struct params *params)
{
	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++) {
		const char *word = events_at(params, i)->word;
		enum probe probe = PROBE_SLOT_FIRST + i;

		if (!word[0])
			kind_undefine(probe);
		else if (!kind_get(probe)->slot->is_named ||
			 strcmp(kind_get(probe)->slot->word, word) != 0)
			kind_define(probe, word);
	}
}
