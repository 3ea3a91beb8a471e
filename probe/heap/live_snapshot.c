// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/live_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "container/container.h"
#include "hooks/tracer_held.h"
#include "kind/kind.h"

#define SUMS_MAX (256u * 1024)

struct sums {
	struct live_snapshot *reading;
	struct live_sums *of[VIEWS];	/* NULL: not asked for */
	const struct live_owner *owner; /* of the last entry: the next one is often its own */
};

static const struct live_owner *owner_of(struct sums *sums, uint32_t pid)
{
	const struct live_snapshot *reading = sums->reading;

	if (!sums->owner || sums->owner->pid != pid)
		sums->owner = live_owner_find(reading->owners, reading->owners_count, pid);
	return sums->owner;
}

static void add_allocation(struct sums *sums, enum view view, const struct live_owner *owner,
			   const struct live_alloc *holding, bool known)
{
	struct live_snapshot *reading = sums->reading;
	const struct live_alloc_filter *filter = &reading->filter;

	uint64_t born_ns = holding->time_ns - holding->older_ns;

	if (!sums->of[view] || !owner->shown || holding->time_ns < filter->since_ns ||
	    born_ns > filter->before_ns)
		return;
	if (!known && holding->time_ns > reading->named_ns)
		reading->young += holding->objects;
	else
		live_sums_add(sums->of[view], holding);
}

/* Returns false if the entry is dead: its process has ended, or begun another program since. */
static bool take_entry(void *arg, const struct allocation_key *key,
		       const struct allocation *allocation)
{
	struct sums *sums = arg;
	struct live_snapshot *reading = sums->reading;
	struct live_alloc holding = {
		.stack = allocation->stack,
		.tid = allocation->tid,
		.bytes = allocation->bytes,
		.objects = allocation->objects,
		.time_ns = allocation->time_ns,
		.older_ns = (uint64_t)allocation->older_ms * NS_PER_MS,
	};

	const struct live_owner *owner = owner_of(sums, key->tgid);
	bool is_new = holding.time_ns >= reading->listed_ns;
	reading->entries++;
	if (!is_new && (!owner || holding.time_ns < owner->since_ns)) {
		reading->dead++;
		return false;
	}
	bool known = stack_cache_hold(reading->stack_cache, &holding.stack);
	if (owner && !is_new)
		add_allocation(sums, VIEW_INUSE, owner, &holding, known);
	return true;
}

static void take_mapped(struct sums *sums)
{
	struct live_snapshot *reading = sums->reading;

	for (size_t i = 0; i < reading->mapped_count; i++) {
		const struct live_alloc *holding = &reading->mapped[i];
		const struct live_owner *owner = owner_of(sums, holding->stack.tgid);

		bool known = stack_cache_hold(reading->stack_cache, &holding->stack);

		if (owner && holding->time_ns >= owner->since_ns)
			add_allocation(sums, VIEW_MMAP, owner, holding, known);
	}
}

static int show_view(struct live_snapshot *reading, enum view view,
		     const struct live_sums *holdings)
{
	_cleanup_profile_ struct profile *profile = NULL;
	struct live_sums_result result;
	int r = profile_new(&profile, kind_of_heap(), reading->from, 0);

	if (r < 0)
		return r;
	if (reading->detail.places)
		profile->places = true;
	else
		profile_drop_places(profile);
	profile->view = view;
	profile->until = reading->until;
	profile->lost = reading->lost[view];
	live_sums_show(holdings, reading->stack_cache, reading->owners, reading->owners_count,
		       &reading->detail, profile, &result);
	reading->result.unknown += result.unknown;
	reading->result.refused += result.refused;
	reading->result.unrecorded += result.unrecorded;
	reading->profiles[view] = TAKE_PTR(profile);
	return 0;
}

static int read_all(struct live_snapshot *reading, struct sums *sums)
{
	int r = 0;

	for (int view = 0; view < VIEWS && r == 0; view++) {
		if (reading->views & 1u << view)
			r = live_sums_new(&sums->of[view], SUMS_MAX);
	}
	if (r == 0)
		r = tracer_held_read(reading->fd, take_entry, sums);
	if (r < 0)
		return r;
	take_mapped(sums);
	for (int view = 0; view < VIEWS && r == 0; view++) {
		if (sums->of[view])
			r = show_view(reading, view, sums->of[view]);
	}
	/* All that holds something was seen. */
	stack_cache_purge(reading->stack_cache);
	return r;
}

void live_snapshot_run(struct live_snapshot *reading)
{
	struct sums sums = {.reading = reading};

	reading->error = read_all(reading, &sums);
	for (int view = 0; view < VIEWS; view++)
		live_sums_free(sums.of[view]);
}

void live_snapshot_done(struct live_snapshot *reading)
{
	for (int view = 0; view < VIEWS; view++)
		profile_unref(reading->profiles[view]);
	for (size_t i = 0; i < reading->owners_count; i++)
		container_unref(reading->owners[i].who.container);
	free(reading->mapped);
	free(reading->owners);
	if (reading->fd >= 0)
		close(reading->fd);
}
