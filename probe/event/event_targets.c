// SPDX-License-Identifier: GPL-2.0-or-later
/* Targets, and which of their files have the paths of events; when their mappings are read again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "event/event_state.h"

#define TARGETS_MAX   16384
#define LOOK_EVERY_NS (5 * NS_PER_MS)
#define LOOKS_AT_ONCE 200

/*
 * When the mappings of a target that lacks a file are read again, after it was met: libraries are
 * mapped some time after the exec, or by the program itself; then after LATER_NS, and each time
 * after twice as long.
 */
static const uint64_t looks_after_ns[] = {0, 20 * NS_PER_MS, 100 * NS_PER_MS, NS_PER_S,
					  3 * NS_PER_S};
#define LATER_NS	(10 * NS_PER_S)
#define LATER_DOUBLINGS 6 /* up to 10 minutes */

struct met_key {
	uint64_t pid, id;
};

/* A target that was met. */
struct met_target {
	struct met_key key;
	uint64_t sweep; /* number of the last sweep that saw it */
	uint64_t since_ns, looks;
	uint64_t read_ns; /* when the maps were read that `files` is from */
	uint64_t changes; /* event_files.changes then */
	bool armed;	  /* its maps were read, or can't be */
	uint32_t wanted;  /* slots (1 << n) that want the target, then */
	struct event_file *files[PROBE_SLOTS_COUNT]; /* borrowed; NULL: it has none such */
	struct met_target *next_gone;
};

struct listing {
	struct event_files *files;
	const struct target *target;
	struct met_target *met;
};

static void list_region(void *arg, const struct region_view *region)
{
	const struct listing *listing = arg;
	struct symbol_place place = {listing->target->pid, region->start, region->end};

	if (region->kind != MAPPING_FILE || !region->file)
		return;
	for (size_t i = 0; i < PROBE_SLOTS_COUNT; i++) {
		const struct event_slot *slot = &listing->files->slots[i];

		if (listing->met->wanted & 1u << i && !listing->met->files[i] &&
		    strcmp(symbol_file_path(region->file), slot->event.path) == 0)
			listing->met->files[i] = event_file_get(
				listing->files, PROBE_SLOT_FIRST + i, region->file, &place);
	}
}

static struct met_target *met_get(struct event_files *files, const struct target *target)
{
	struct met_key key = {(uint64_t)target->pid, target->id};
	struct met_target **slot = map_get(files->met, &key);

	if (slot)
		return *slot;
	struct met_target *met = calloc(1, sizeof(*met));
	if (!met || map_put(files->met, &key, (void **)&slot) < 0) {
		free(met);
		return NULL;
	}
	met->key = key;
	met->since_ns = loop_now_ns();
	met->looks = address_space_read_ns(target->space) ? 1 : 0;
	*slot = met;
	return met;
}

/* Has the target's mappings read again, if that is due. */
static void look_again(struct event_files *files, struct met_target *met,
		       const struct target *target)
{
	uint64_t now_ns = loop_now_ns();
	uint64_t late = met->looks - ARRAY_SIZE(looks_after_ns);
	uint64_t after_ns = met->looks < ARRAY_SIZE(looks_after_ns)
				    ? looks_after_ns[met->looks]
				    : LATER_NS << (late < LATER_DOUBLINGS ? late : LATER_DOUBLINGS);

	if (met->since_ns + after_ns > now_ns) {
		event_files_wake(files, met->since_ns + after_ns);
	} else if (rate_take(&files->looks, now_ns)) {
		met->looks++;
		targets_look_at(files->targets, target);
	} else {
		event_files_wake(files, now_ns + LOOK_EVERY_NS);
	}
}

/* Returns the running slots (1 << n) that want the target. */
static uint32_t slots_wanting(const struct event_files *files, const struct target *target)
{
	uint32_t wanted = 0;

	for (uint32_t i = 0; i < PROBE_SLOTS_COUNT; i++) {
		if (files->slots[i].running &&
		    targets_will_want(files->targets, target, PROBE_SLOT_FIRST + i))
			wanted |= 1u << i;
	}
	return wanted;
}

/* Lists the target's files anew if they may be others. */
static void list_files(struct event_files *files, struct met_target *met,
		       const struct target *target, uint32_t wanted)
{
	struct listing listing = {files, target, met};
	uint64_t read_ns = address_space_read_ns(target->space);

	if (met->changes == files->changes && met->read_ns == read_ns && met->wanted == wanted)
		return;
	memset(met->files, 0, sizeof(met->files));
	met->changes = files->changes;
	met->read_ns = read_ns;
	met->wanted = wanted;
	address_space_each(target->space, list_region, &listing);
}

/* Notes that a target has a file. */
static void meet_file(struct event_slot *slot, struct event_file *file)
{
	slot->with_file++;
	file->seen_ns = loop_now_ns();
	if (file->same)
		file->same->seen_ns = file->seen_ns;
	if (file->error)
		slot->why = file->why;
}

static void visit_target(void *arg, const struct target *target)
{
	struct event_files *files = arg;
	uint32_t wanted = slots_wanting(files, target);
	struct met_target *met = wanted ? met_get(files, target) : NULL;
	bool lacks = false;

	if (!met)
		return;
	list_files(files, met, target, wanted);
	met->sweep = files->sweep;
	for (uint32_t i = 0; i < PROBE_SLOTS_COUNT; i++) {
		if (!(wanted & 1u << i))
			continue;
		files->slots[i].targets++;
		if (met->files[i])
			meet_file(&files->slots[i], met->files[i]);
		else
			lacks = true;
	}
	met->armed = met->armed || met->read_ns || !target_is_inspected(target);
	if (lacks)
		look_again(files, met, target);
}

void event_targets_drop(struct event_files *files, bool all)
{
	const struct met_key *key;
	struct met_target **slot, *gone = NULL;

	map_each (files->met, pos, key, slot) {
		if (!all && (*slot)->sweep == files->sweep)
			continue;
		(*slot)->next_gone = gone;
		gone = *slot;
	}
	while (gone) {
		struct met_target *met = gone;

		gone = met->next_gone;
		map_del(files->met, &met->key);
		free(met);
	}
}

void event_targets_visit(struct event_files *files)
{
	targets_each(files->targets, visit_target, files);
}

bool event_targets_are_arming(const struct event_files *files)
{
	const struct met_key *key;
	struct met_target **met;

	map_each (files->met, pos, key, met) {
		if (!(*met)->armed)
			return true;
	}
	return false;
}

int event_targets_new(struct event_files *files)
{
	files->looks = (struct rate){.every_ns = LOOK_EVERY_NS, .burst = LOOKS_AT_ONCE};
	return map_new(&files->met, sizeof(struct met_key), sizeof(struct met_target *),
		       TARGETS_MAX);
}

void event_targets_free(struct event_files *files)
{
	event_targets_drop(files, true);
	map_free(files->met);
}
