// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Targets that want their allocations probed, and the files they map. A sweep looks at all of them:
 * soon after a change was reported, and once a second.
 */
#include "alloc/allocators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/shared/probe.h"
#include "alloc/allocators_state.h"
#include "kind/kind.h"

#define FILES_MAX	    16384
#define FILES_OF_TARGET_MAX 1024
#define SOON_NS		    NS_PER_MS
#define SWEEP_NS	    NS_PER_S
#define LONG_SWEEP_NS	    (5 * NS_PER_MS) /* of a sweep, at most: a longer one was interrupted */
#define LOOK_EVERY_NS	    (5 * NS_PER_MS)
#define LOOKS_AT_ONCE	    200
#define REST		    20 /* a sweep is followed by this many times its length without one */

/*
 * When the mappings of a new target are read, after it was met: libraries are mapped some time
 * after the exec.
 */
static const uint64_t looks_after_ns[] = {0, 20 * NS_PER_MS, 100 * NS_PER_MS, NS_PER_S};

void allocators_wake(struct allocators *allocators, uint64_t at_ns)
{
	if (allocators->running && at_ns < allocators->rests_until_ns)
		at_ns = allocators->rests_until_ns;
	if (!allocators->timer.active || at_ns < allocators->timer.at_ns)
		loop_timer_set(allocators->loop, &allocators->timer, at_ns);
}

/* ---- one target ---- */

static void drop_files(struct probed_file **files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		probed_file_put(files[i]);
	free(files);
}

static void watched_free(struct watched *watched)
{
	watched_leave(watched);
	drop_files(watched->files, watched->count);
	free(watched);
}

struct file_listing {
	struct allocators *allocators;
	const struct target *target;
	const struct symbol_file *program;
	struct probed_file **files;
	size_t count;
	bool has_program;
};

static void list_region(void *arg, const struct region_view *region)
{
	struct file_listing *listing = arg;
	struct symbol_place place = {listing->target->pid, region->start, region->end};

	if (region->kind != MAPPING_FILE || !region->file || listing->count == FILES_OF_TARGET_MAX)
		return;
	struct probed_file *file = probed_file_get(listing->allocators, region->file, &place);
	if (!file)
		return;
	size_t i = 0;
	while (i < listing->count && listing->files[i] != file)
		i++;
	if (i < listing->count) {
		probed_file_put(file);
		return;
	}
	listing->files[listing->count++] = file;
	if (region->file != listing->program)
		return;
	listing->files[i] = listing->files[0];
	listing->files[0] = file;
	listing->has_program = true;
}

/* Lists the files that the target maps, from its last read mappings. */
static void list_files(struct allocators *allocators, struct watched *watched,
		       const struct target *target)
{
	struct file_listing listing = {
		.allocators = allocators,
		.target = target,
		.program = address_space_program(target->space),
		.files = calloc(FILES_OF_TARGET_MAX, sizeof(struct probed_file *)),
	};

	if (!listing.files)
		return;
	address_space_each(target->space, list_region, &listing);
	drop_files(watched->files, watched->count);
	watched->files = listing.files;
	watched->count = listing.count;
	watched->has_program = listing.has_program;
	watched->read_ns = address_space_read_ns(target->space);
	watched->settled = false;
	if (!listing.count)
		return;
	struct probed_file **less =
		reallocarray(listing.files, listing.count, sizeof(struct probed_file *));
	watched->files = less ? less : listing.files;
}

static struct watched *watched_get(struct allocators *allocators, const struct target *target)
{
	struct watched_key key = {(uint64_t)target->pid, target->id};
	struct watched **slot = map_get(allocators->watched, &key);

	if (slot)
		return *slot;
	struct watched *watched = calloc(1, sizeof(*watched));
	if (!watched || map_put(allocators->watched, &key, (void **)&slot) < 0) {
		free(watched);
		return NULL;
	}
	watched->key = key;
	watched->why = "";
	watched->since_ns = loop_now_ns();
	watched->looks = address_space_read_ns(target->space) ? 1 : 0;
	watched->is_young = !watched->looks;
	*slot = watched;
	return watched;
}

/* Has the target's mappings read again, if that is due. */
static void look_again(struct allocators *allocators, struct watched *watched,
		       const struct target *target)
{
	uint64_t now_ns = loop_now_ns(), due_ns;

	if (watched->looks == ARRAY_SIZE(looks_after_ns) ||
	    (!watched->is_young && !watched->unsupported))
		return;
	due_ns = watched->since_ns + looks_after_ns[watched->looks];
	if (due_ns > now_ns) {
		allocators_wake(allocators, due_ns);
	} else if (rate_take(&allocators->looks, now_ns)) {
		watched->looks++;
		targets_look_at(allocators->targets, target);
		look_again(allocators, watched, target);
	} else {
		allocators_wake(allocators, now_ns + LOOK_EVERY_NS);
	}
}

static void visit_target(void *arg, const struct target *target)
{
	struct allocators *allocators = arg;

	/*
	 * A process before its exec mostly has the same C library after it: points are there then.
	 */
	if (!targets_will_want(allocators->targets, target, kind_of_heap()))
		return;
	struct watched *watched = watched_get(allocators, target);
	if (!watched)
		return;
	watched->generation = allocators->generation;
	if (address_space_read_ns(target->space) != watched->read_ns)
		list_files(allocators, watched, target);
	if (watched->read_ns && (!watched->settled || allocators->rechoosing))
		watched_choose(watched);
	if (!watched->read_ns && !target_is_inspected(target))
		watched->armed = true; /* its mappings can't be read, or aren't wanted yet */
	look_again(allocators, watched, target);
}

/* ---- all of them ---- */

/* Drops targets that the last sweep didn't visit; `all`: every one. */
static void drop_watched(struct allocators *allocators, bool all)
{
	const struct watched_key *key;
	struct watched **slot, *gone = NULL;

	map_each (allocators->watched, pos, key, slot) {
		if (!all && (*slot)->generation == allocators->generation)
			continue;
		(*slot)->next_gone = gone;
		gone = *slot;
	}
	while (gone) {
		struct watched *watched = gone;

		gone = watched->next_gone;
		map_del(allocators->watched, &watched->key);
		watched_free(watched);
	}
}

static void sweep_targets(void *arg)
{
	struct allocators *allocators = arg;
	bool rechoosing = allocators->rechoosing;
	uint64_t began_ns = loop_now_ns();

	/* With thousands of targets that come and go, sweeps would otherwise take all the time. */
	allocators->rests_until_ns = began_ns + REST * allocators->sweep_ns;
	if (allocators->running) {
		allocators->generation++;
		allocators->dirty = allocators->chosen_anew = false;
		targets_each(allocators->targets, visit_target, allocators);
		drop_watched(allocators, false);
		allocators->sweep_ns = loop_now_ns() - began_ns;
		if (allocators->sweep_ns > LONG_SWEEP_NS)
			allocators->sweep_ns = LONG_SWEEP_NS;
		allocators_wake(allocators, loop_now_ns() + SWEEP_NS);
	}
	if (rechoosing)
		allocators->rechoosing = false;
	files_sweep(allocators);
	files_step(allocators);
}

int allocators_new(struct allocators **ret, struct loop *loop, struct worker *urgent,
		   struct tracer *tracer, struct targets *targets)
{
	struct allocators *allocators = calloc(1, sizeof(*allocators));

	if (!allocators)
		return -ENOMEM;
	allocators->loop = loop;
	allocators->urgent = urgent;
	allocators->tracer = tracer;
	allocators->targets = targets;
	allocators->timer = (struct loop_timer){
		.expired = sweep_targets, .arg = allocators, .name = "allocators"};
	allocators->looks = (struct rate){.every_ns = LOOK_EVERY_NS, .burst = LOOKS_AT_ONCE};
	int r = map_new(&allocators->watched, sizeof(struct watched_key), sizeof(struct watched *),
			FILES_MAX);
	if (r == 0)
		r = map_new(&allocators->by_key, sizeof(struct file_key),
			    sizeof(struct probed_file *), FILES_MAX);
	if (r < 0) {
		allocators_free(allocators);
		return r;
	}
	*ret = allocators;
	return 0;
}

void allocators_free(struct allocators *allocators)
{
	if (!allocators)
		return;
	loop_timer_cancel(allocators->loop, &allocators->timer);
	if (allocators->watched)
		drop_watched(allocators, true);
	files_free(allocators);
	map_free(allocators->watched);
	map_free(allocators->by_key);
	free(allocators);
}

void allocators_start(struct allocators *allocators)
{
	if (allocators->running)
		return;
	allocators->running = true;
	allocators->stopped = NULL;
	for (struct probed_file *file = allocators->files; file; file = file->next) {
		file->parts[PART_HEAP].error = file->parts[PART_MAPPINGS].error = 0;
		if (file->state == FILE_UNREADABLE)
			file->state = FILE_NEW;
	}
	allocators->dirty = allocators->chosen_anew = true;
	allocators_wake(allocators, loop_now_ns());
}

void allocators_stop(struct allocators *allocators, void (*stopped)(void *arg), void *arg)
{
	allocators->running = allocators->dirty = allocators->chosen_anew = false;
	allocators->epoch++;
	allocators->stopped = stopped;
	allocators->stopped_arg = arg;
	drop_watched(allocators, true);
	files_sweep(allocators);
	files_step(allocators);
}

void allocators_refresh(struct allocators *allocators)
{
	if (!allocators->running)
		return;
	allocators->dirty = true;
	allocators_wake(allocators, loop_now_ns() + SOON_NS);
}

void allocators_reselect(struct allocators *allocators)
{
	allocators_refresh(allocators);
	allocators->chosen_anew = allocators->running;
}

bool allocators_are_arming(const struct allocators *allocators)
{
	const struct watched_key *key;
	struct watched **slot;

	if (allocators->chosen_anew)
		return true;
	map_each (allocators->watched, pos, key, slot) {
		struct watched *watched = *slot;

		watched->armed |= watched->settled && watched_is_attached(watched);
		if (!watched->armed)
			return true;
	}
	return false;
}

/* ---- what is known of one target ---- */

static void add_part(const struct watched *watched, const struct choice *choice,
		     enum allocator_part which, struct allocator_view *view)
{
	const struct file_part *part = &choice->file->parts[which];

	if (!choice->parts[which])
		return;
	if (part->uprobes) {
		view->points += probed_file_points(choice->file, which, &view->stepped);
		view->session = part->session;
	}
	if (part->error) {
		view->state = ALLOCATOR_FAILED;
		view->why = part->why;
	}
	if (which != PART_HEAP || view->kind != ALLOCATOR_NONE)
		return;
	bool own = watched->has_program && probed_file_real(watched->files[0]) == choice->file;
	view->kind = choice->file->facts->allocator.kind;
	view->file = own || !choice->file->path ? "" : choice->file->path;
	if (part->uprobes && view->state == ALLOCATOR_UNKNOWN)
		view->state = ALLOCATOR_PROBED;
}

void allocators_of(const struct allocators *allocators, const struct target *target,
		   struct allocator_view *view)
{
	struct watched_key key = {(uint64_t)target->pid, target->id};
	struct watched **slot = map_get(allocators->watched, &key);

	*view = (struct allocator_view){.file = "", .why = ""};
	if (!slot || !(*slot)->settled)
		return;
	const struct watched *watched = *slot;
	view->why = watched->why;
	if (watched->unsupported || watched->failed)
		view->state = watched->failed ? ALLOCATOR_FAILED : ALLOCATOR_UNSUPPORTED;
	for (size_t i = 0; i < watched->chosen_count; i++) {
		for (enum allocator_part part = 0; part < PARTS; part++)
			add_part(watched, &watched->chosen[i], part, view);
	}
}

void allocators_stats(const struct allocators *allocators, struct allocators_stats *stats)
{
	*stats = (struct allocators_stats){.arming = allocators_are_arming(allocators)};
	for (const struct probed_file *file = allocators->files; file; file = file->next) {
		unsigned before = stats->points;

		for (enum allocator_part part = 0; part < PARTS; part++) {
			if (!file->parts[part].uprobes)
				continue;
			stats->points += probed_file_points(file, part, &stats->stepped);
			stats->session = file->parts[part].session;
		}
		stats->files += stats->points > before;
	}
}
