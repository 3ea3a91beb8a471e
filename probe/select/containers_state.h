/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to select/containers.c (groups and containers) and containers_names.c (reading names). */
#pragma once

#include "loop/hung_set.h"
#include "base/map.h"
#include "select/containers.h"

/* A container's place without padding, as a map's key. */
struct place_key {
	char id[CONTAINER_ID_BYTES];
	char pod_uid[CONTAINER_ID_BYTES];
	char outer[CONTAINER_ID_BYTES];
	char runtime;
	uint32_t user;
};

struct known_container {
	struct containers *containers;
	struct place_key key;
	struct container *container; /* as known now */
	struct known_cgroup *recent; /* the last group made of it, while it exists */
	unsigned groups;
	bool wanted;	  /* its names are asked for */
	bool named;	  /* names are known, or won't be soon */
	bool over;	  /* names aren't read any more */
	bool again;	  /* names are known, and read again from time to time */
	unsigned missed;  /* times in a row that a known name was missing */
	unsigned tries;	  /* of reading names */
	uint64_t next_ns; /* when the next reading is due */
};

struct containers {
	struct loop *loop;
	struct worker *worker;
	char *root;
	struct containers_events events;
	struct map *groups; /* struct cgroup_key -> struct known_group */
	struct map *known;  /* struct place_key -> struct known_container * */
	uint64_t clock;	    /* counts uses */
	struct loop_timer next;
	bool asking;		/* a job reads names */
	uint64_t fresh_ns;	/* period of reading names again; 0: never */
	uint64_t again_from_ns; /* no name is read again before */
	struct hung_set hung;	/* states that took too long to read: user, runtime */
	struct containers_stats stats;
};

struct known_group {
	struct known_cgroup *group;
	uint64_t used;
};

/* Drops a group's reference to its container. */
void known_container_unref(struct known_container *known);

/* Expiry function of containers->next: reads the names that are due. */
void containers_ask_next(void *arg);
