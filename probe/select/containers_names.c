// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads containers' names, by one job at a time. A container that has just begun may not be in its
 * runtime's state yet, or only in part: it is looked up again, at growing intervals. A container
 * that has a name may be renamed: it is looked up again as long as its runtime knows it.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "container/names.h"
#include "select/containers_state.h"

#define LIMIT_NS (3 * NS_PER_S)
/* Time for which a state that hung isn't read, for any container. */
#define HUNG_NS (60 * NS_PER_S)
/* Delay before the next try if no thread was left. */
#define BUSY_NS (10 * NS_PER_S)

/* Reading names again takes at most a 500th of a CPU's time. */
#define AGAIN_SHARE 500
/* Times in a row without a name after which a container is taken for gone. */
#define MISSED_MAX 3

/* Delays of the tries. From try SOON on, those who wait are told that there is no name. */
#define SOON 4
static const uint64_t delays_ns[] = {50 * NS_PER_MS, 200 * NS_PER_MS, 750 * NS_PER_MS, 4 * NS_PER_S,
				     30 * NS_PER_S};

struct names_job {
	struct job job;
	struct containers *containers;
	struct place_key key;
	struct container_place place;
	char *root;
	struct container *known; /* NULL: first reading */
	struct container *answer;
	uint64_t took_ns;
	atomic_bool began;
};

static void lookup_run(struct job *job)
{
	struct names_job *lookup = (struct names_job *)job;

	uint64_t began_ns = loop_now_ns();

	lookup->began = true;
	if (lookup->known)
		container_names_again(&lookup->answer, lookup->root, lookup->known);
	else
		container_names_read(&lookup->answer, lookup->root, &lookup->place);
	lookup->took_ns = loop_now_ns() - began_ns;
}

static void free_lookup(struct job *job)
{
	struct names_job *lookup = (struct names_job *)job;

	container_unref(lookup->known);
	container_unref(lookup->answer);
	free(lookup->root);
	free(lookup);
}

static bool has_names(const struct container *container)
{
	return container->name[0] || container->pod[0] || container->image[0];
}

/* Reads its name, and that of its pod. */
static bool is_complete(const struct container *container)
{
	return container->name[0] && (container->pod[0] || !container->place.pod_uid[0]);
}

static void tell_names(struct known_container *known, struct container *now, bool late)
{
	const struct containers_events *events = &known->containers->events;
	struct container *before = known->container;

	known->container = container_ref(now);
	if (events->named)
		events->named(events->arg, before, now, late);
	container_unref(before);
}

static bool is_same(const struct container *a, const struct container *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->pod, b->pod) == 0 &&
	       strcmp(a->pod_namespace, b->pod_namespace) == 0 && strcmp(a->image, b->image) == 0 &&
	       strcmp(a->place.pod_uid, b->place.pod_uid) == 0;
}

static void look_again(struct known_container *known)
{
	known->over = false;
	known->again = true;
	known->next_ns = loop_now_ns() + known->containers->fresh_ns;
}

/*
 * Like the function above, for a container that has a name: that stays until there is another one.
 */
static void take_again(struct known_container *known, struct container *answer)
{
	bool has_name = answer && answer->name[0];

	known->missed = has_name ? 0 : known->missed + 1;
	known->over = known->missed >= MISSED_MAX;
	known->next_ns = loop_now_ns() + known->containers->fresh_ns;
	if (has_name && !is_same(known->container, answer))
		tell_names(known, answer, true);
}

/* Takes what was read; NULL: there was no memory. */
static void take_names(struct known_container *known, struct container *answer)
{
	struct containers_stats *stats = &known->containers->stats;
	bool was_named = known->named;
	bool complete = answer && is_complete(answer);
	unsigned tries = ++known->tries;

	known->over = complete || tries > ARRAY_SIZE(delays_ns);
	known->named = was_named || complete || tries >= SOON;
	if (!known->over)
		known->next_ns = loop_now_ns() + delays_ns[tries - 1];
	else if (answer && answer->name[0])
		look_again(known);
	stats->unnamed += known->named && !was_named && !(answer && has_names(answer));
	if (!answer)
		answer = known->container;
	if (known->named && (!was_named || !is_same(known->container, answer)))
		tell_names(known, answer, was_named);
}

/* Gives up for now: it has no names, and those who wait are told. */
static void put_off(struct known_container *known, uint64_t until_ns)
{
	known->next_ns = until_ns;
	if (known->named)
		return;
	known->named = true;
	known->containers->stats.unnamed++;
	tell_names(known, known->container, false);
}

/*
 * A thread hangs in this state. Its container isn't looked up again, others of the same state not
 * for a while, so that threads are left for runtimes that answer.
 */
static void give_up(struct known_container *known)
{
	struct containers *containers = known->containers;
	uint64_t until_ns = loop_now_ns() + HUNG_NS;

	hung_set_add(&containers->hung, known->key.user, known->key.runtime, until_ns);
	containers->stats.given_up++;
	known->over = true;
	put_off(known, until_ns);
}

static void lookup_done(struct job *job, bool finished)
{
	struct names_job *lookup = (struct names_job *)job;
	struct containers *containers = lookup->containers;
	struct known_container **slot = map_get(containers->known, &lookup->key);

	containers->asking = false;
	if (finished && lookup->known)
		containers->again_from_ns = loop_now_ns() + AGAIN_SHARE * lookup->took_ns;
	if (slot) {
		struct known_container *known = *slot;

		known->groups++; /* a callback may drop the last group */
		if (finished && lookup->known && known->again)
			take_again(known, lookup->answer);
		else if (finished && !lookup->known)
			take_names(known, lookup->answer);
		else if (finished) /* it was forgotten meanwhile, and begins again */
			known->next_ns = 0;
		else if (lookup->began)
			give_up(known);
		else
			put_off(known, loop_now_ns() + BUSY_NS);
		known_container_unref(known);
	}
	containers_ask_next(containers);
}

static void ask_names(struct containers *containers, struct known_container *known)
{
	struct names_job *lookup = calloc(1, sizeof(*lookup));

	known->next_ns = loop_now_ns() + NS_PER_S; /* in case there is no memory */
	if (!lookup)
		return;
	lookup->job = (struct job){.run = lookup_run,
				   .done = lookup_done,
				   .free = free_lookup,
				   .limit_ns = LIMIT_NS,
				   .whose = job_of(known->key.user, 0)}; /* the state's user */
	lookup->containers = containers;
	lookup->key = known->key;
	lookup->place = known->container->place;
	lookup->known = known->again ? container_ref(known->container) : NULL;
	/* What its runtime says of its pod isn't part of the place. */
	memcpy(lookup->place.pod_uid, known->key.pod_uid, sizeof(lookup->place.pod_uid));
	lookup->root = strdup(containers->root);
	if (!lookup->root) {
		free_lookup(&lookup->job);
		return;
	}
	containers->asking = true;
	worker_submit(containers->worker, &lookup->job);
}

/*
 * Returns the container tried least often, so that one that hangs delays no other one twice. NULL:
 * none is due before *next_ns.
 */
static struct known_container *find_due(const struct containers *containers, uint64_t *next_ns)
{
	struct known_container **slot, *first = NULL;
	const struct place_key *key;
	uint64_t now_ns = loop_now_ns();

	*next_ns = UINT64_MAX;
	map_each (containers->known, pos, key, slot) {
		struct known_container *known = *slot;

		if (!known->wanted || known->over || (known->again && !containers->fresh_ns))
			continue;
		uint64_t due_ns = known->next_ns;
		if (known->again && due_ns < containers->again_from_ns)
			due_ns = containers->again_from_ns;
		if (due_ns > now_ns)
			*next_ns = due_ns < *next_ns ? due_ns : *next_ns;
		else if (!first || known->tries < first->tries)
			first = known;
	}
	return first;
}

void containers_ask_next(void *arg)
{
	struct containers *containers = arg;
	struct known_container *due;
	uint64_t next_ns;

	while (!containers->asking && (due = find_due(containers, &next_ns))) {
		uint64_t until_ns = hung_set_until_ns(&containers->hung, due->key.user,
						      due->key.runtime, loop_now_ns());

		due->groups++; /* as above */
		if (until_ns)
			put_off(due, until_ns);
		else
			ask_names(containers, due);
		known_container_unref(due);
	}
	if (!containers->asking && next_ns != UINT64_MAX)
		loop_timer_set(containers->loop, &containers->next, next_ns);
}

void containers_ask(struct containers *containers, const struct known_cgroup *group)
{
	struct known_container *known = group ? group->in : NULL;

	if (!known || known->wanted)
		return;
	known->wanted = true;
	containers_ask_next(containers);
}

void containers_keep_fresh(struct containers *containers, uint64_t every_ns)
{
	containers->fresh_ns = every_ns;
	containers_ask_next(containers);
}
