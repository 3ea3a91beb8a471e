/* SPDX-License-Identifier: GPL-2.0-only */
/* What select/containers.c (who there is) and containers_names.c (what they are called) share.
 * Nobody else includes it. */
#pragma once

#include "base/map.h"
#include "select/containers.h"

/* A container's place without padding: a map's key. */
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
	struct container *container; /* as it is known now */
	struct group *recent;	     /* the last one that was made of it, while it is there */
	unsigned groups;
	bool wanted;	  /* somebody asks for its names */
	bool named;	  /* they are known, or won't be soon */
	bool over;	  /* they aren't read any more */
	bool again;	  /* there are names, which are read again from time to time */
	unsigned missed;  /* that there was none then, in a row */
	unsigned tries;	  /* of reading them */
	uint64_t next_ns; /* the next one */
};

/* Whose state took too long to read. */
struct hung_state {
	uint32_t user;
	char runtime;
	uint64_t until_ns; /* it isn't asked for any other container before */
};
#define HUNG_STATES 16

struct containers {
	struct loop *loop;
	struct worker *worker;
	char *root;
	struct containers_events events;
	struct map *groups; /* struct cgroup_key -> struct known_group */
	struct map *known;  /* struct place_key -> struct known_container * */
	uint64_t clock;	    /* of uses */
	struct loop_timer next;
	bool asking;		/* a job reads names */
	uint64_t fresh_ns;	/* names are read again after so long; 0: they aren't */
	uint64_t again_from_ns; /* not before, whichever it is */
	struct hung_state hung[HUNG_STATES];
	unsigned hung_next;
	struct containers_stats stats;
};

struct known_group {
	struct group *group;
	uint64_t used;
};

/* One of its groups goes. */
void known_container_unref(struct known_container *known);

/* The expiry of containers->next: reads what is due. */
void containers_ask_next(void *arg);
