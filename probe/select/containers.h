/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which container a process is in, by its cgroups: what the kernel's side told of them, and what
 * runtimes tell of containers. Bounded; who wasn't asked for longest goes first, unless a target
 * has it. On the loop's thread alone; names are read by jobs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/worker.h"
#include "container/container.h"
#include "select/snooper.h"
#include "bpf/shared/sample.h"

struct containers;
struct known_container;

/* Some cgroups, of one path or more processes. */
struct group {
	unsigned refs;
	unsigned keys; /* of these: its cgroups' keys, a container that begins again has others */
	struct known_container *in; /* NULL: in none */
	/* What snoopers_match_container() said: the set's serial, and the names at that time. */
	uint64_t judged_by;
	const struct container *judged_for;
	struct match judged;
	char path[]; /* in the v2 hierarchy; "": not known */
};

/* -ENOMEM. `worker`: a job of it may hang for seconds. */
int containers_new(struct containers **ret, struct loop *loop, struct worker *worker);
/* All groups are gone, but for its own. */
void containers_free(struct containers *containers);

/* Where the host's root is seen; "/" until then. -ENOMEM */
int containers_set_root(struct containers *containers, const char *root);

/* From now on names that are known are read again each `every_ns`, for containers are renamed;
 * more seldom where that would take more than a 500th of a CPU. 0: they aren't. */
void containers_keep_fresh(struct containers *containers, uint64_t every_ns);

/* Calls evicted(arg, key) when cgroups are forgotten, and named(…) when all is known of a container
 * that will be: `before` is what groups' container was until now; `late`: group_is_named() said yes
 * before, there are names after all, or others. */
struct containers_events {
	void (*evicted)(void *arg, const struct cgroup_key *key);
	void (*named)(void *arg, const struct container *before, struct container *now, bool late);
	void *arg;
};
void containers_on(struct containers *containers, const struct containers_events *events);

/* Borrowed; NULL: it isn't known. */
struct group *containers_find(struct containers *containers, const struct cgroup_key *key);

/* Where these cgroups lie: from now on they are found. */
void containers_learn(struct containers *containers, const struct cgroup_key *key,
		      const struct container_place *place, const char *path);

/* The same of a process whose key isn't known: a reference, NULL: no room, which is counted. */
struct group *containers_place(struct containers *containers, const struct container_place *place,
			       const char *path);

struct group *group_ref(struct group *group); /* of NULL: NULL */
void group_unref(struct group *group);

/* Borrowed; NULL: in none. */
struct container *group_container(const struct group *group);

/* Whether its container's names are known, or won't be soon; true where it is in none. */
bool group_is_named(const struct group *group);

/* Has the names read, unless that was done. */
void containers_ask(struct containers *containers, const struct group *group);

struct containers_stats {
	uint64_t containers, groups; /* that are known now */
	uint64_t refused;	     /* found no room, since the start */
	uint64_t unnamed;	     /* of which their runtime told nothing, since the start */
	uint64_t given_up;	     /* of these: it took too long */
};
void containers_stats(const struct containers *containers, struct containers_stats *stats);
