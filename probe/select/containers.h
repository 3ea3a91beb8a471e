/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of cgroups and containers: which container a process is in, by its cgroups as the kernel's
 * side reported them, and the names that runtimes have for containers. Bounded; the least recently
 * used one goes first, unless a target has it. Loop thread only; names are read by jobs.
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

/* A process's cgroups: one path, of one or more processes. */
struct known_cgroup {
	unsigned refs;
	/* references by cgroups' keys; a restarted container has other keys */
	unsigned keys;
	struct known_container *in; /* its container; NULL: none */
	/*
	 * Cached result of snoopers_match_container(), with the snoopers' serial and the names it
	 * is for.
	 */
	uint64_t judged_by;
	const struct container *judged_for;
	struct match judged;
	char path[]; /* in the v2 hierarchy; "": not known */
};

/*
 * Creates it; the caller owns *ret. A job of `worker` may hang for seconds. Returns 0 or -ENOMEM.
 */
int containers_new(struct containers **ret, struct loop *loop, struct worker *worker);
/* Frees it; the caller has no references to groups any more. */
void containers_free(struct containers *containers);

/* Sets where the host's root is seen; "/" before. Returns 0 or -ENOMEM. */
int containers_set_root(struct containers *containers, const char *root);

/*
 * Sets the period of reading known names again, for containers are renamed; longer where that would
 * take more than a 500th of a CPU. 0: names aren't read again.
 */
void containers_keep_fresh(struct containers *containers, uint64_t every_ns);

/*
 * evicted() is called when cgroups are forgotten; named() when all is known that will be of a
 * container. `before` is what groups' container was until then; `late`: group_is_named() was true
 * before, but there are names after all, or others.
 */
struct containers_events {
	void (*evicted)(void *arg, const struct cgroup_key *key);
	void (*named)(void *arg, const struct container *before, struct container *now, bool late);
	void *arg;
};
void containers_on(struct containers *containers, const struct containers_events *events);

/* Returns the group with that key, borrowed; NULL: unknown. */
struct known_cgroup *containers_find(struct containers *containers, const struct cgroup_key *key);

/* Adds a group, found by its key from now on. */
void containers_learn(struct containers *containers, const struct cgroup_key *key,
		      const struct container_place *place, const char *path);

/* Returns a group whose key isn't known, with a reference; NULL: no room, which is counted. */
struct known_cgroup *containers_place(struct containers *containers,
				      const struct container_place *place, const char *path);

struct known_cgroup *group_ref(struct known_cgroup *group); /* returns `group`, which may be NULL */
void group_unref(struct known_cgroup *group);

/* Returns the group's container, borrowed; NULL: none. */
struct container *group_container(const struct known_cgroup *group);

/* Returns whether the container's names are known, or won't be soon; true without a container. */
bool group_is_named(const struct known_cgroup *group);

/* Has the names of the group's container read, unless that was asked before. */
void containers_ask(struct containers *containers, const struct known_cgroup *group);

struct containers_stats {
	uint64_t containers, groups; /* known now */
	uint64_t refused;	     /* groups that found no room, since the start */
	/* containers whose runtime had no names for them, since the start */
	uint64_t unnamed;
	uint64_t given_up; /* those whose runtime took too long */
};
void containers_stats(const struct containers *containers, struct containers_stats *stats);

/* Rows of struct containers_stats (measure/measure.h). */
extern const struct measures container_measures;
