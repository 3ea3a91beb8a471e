/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that params name: {"events": {"reads": "u:/usr/lib/libx.so:read"}} is the probe
 * event:reads. Each has one of the PROBE_SLOTS_COUNT slots among the probes, and keeps it while it
 * is named. A slot gets another name some time after its probe has stopped, when nothing of the
 * earlier one is still being written; a name that comes again before that gets its slot again. Loop
 * thread only.
 */
#pragma once

#include "base/why.h"
#include "select/spec.h"

/* Returns the probe of an event that params name ("event:reads", any case), or -ENOENT. */
int events_find(const struct params *params, const char *name);

/* Forgets all events of params. */
void events_clear(struct params *params);

/*
 * Names an event. `before`: params in force, which may name it already. Returns 0, or with a
 * sentence in `why` -EINVAL for a wrong name or text, -E2BIG for one too many, -EBUSY if all slots
 * that are left are used by events in force, or were until a moment ago.
 */
int events_add(struct params *params, const struct params *before, const char *word,
	       const char *what, struct why *why);

/* Takes over the events of other params, and nothing else. */
void events_copy(struct params *params, const struct params *from);

/* Returns an event by its slot, from 0 on; its `word` is "" if there is none. */
struct event_settings *events_at(const struct params *params, unsigned slot);

/* Gives all events the values that they share. Call it when all params were read. */
void events_settle(struct params *params);

/* Returns the probes (1 << enum probe) that params don't name. */
uint32_t events_unnamed(const struct params *params);

/* Has the probes of these params called by their names. */
void events_define(const struct params *params);
