/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snoopers: sets of selectors of processes. A set is a union of entries; it is immutable once made,
 * and shared by reference, also with jobs on other threads.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "container/container.h"

#define SNOOPER_PATTERN_MAX 255

/* Selects one process. */
struct id_snooper {
	pid_t pid;
	uint64_t start_ticks; /* of the process that had the pid when it was named … */
	bool existed;	      /* … if there was one */
	uint32_t probes;      /* applies to these only */
};

/* Selects all processes whose name and command line match. */
struct name_snooper {
	char *comm;	     /* regular expression; "" = any */
	char *cmdline;	     /* substring; "" = any */
	char *debugging_dir; /* "" = none */
	uint32_t probes;     /* counts for these only */
	bool probes_given;
	void *pattern; /* compiled comm; NULL = any */
	/* it took too many steps for some name: it matches nothing any more */
	atomic_bool dear;
};

/* How containers are selected; in the order of GET. */
enum container_by {
	BY_POD_ID, /* Kubernetes' UID, with or without hyphens; podman's pod id, 12 digits or more
		    */
	/*
	 * 12 to 64 hexadecimal digits: the start of its id, or of the id of the container it runs
	 * in
	 */
	BY_CONTAINER_ID,
	BY_CONTAINER_NAME, /* the whole name; "/…/": a pattern */
	/* path in the v2 hierarchy: that one and all below it; no container is needed */
	BY_CGROUP,
	BY_POD,	  /* the pod's name and its namespace ("": any) */
	BY_IMAGE, /* the image's name, with or without registry and tag; "/…/": a pattern */
	CONTAINER_BY_COUNT,
};

/* Selects all processes of the containers that match. */
struct container_snooper {
	enum container_by by;
	char *text;	     /* as given */
	char *pod_namespace; /* of BY_POD */
	char id[65];	     /* an id: lower case, without hyphens */
	uint32_t probes;     /* counts for these only */
	void *pattern;	     /* compiled; NULL: none */
};

struct snoopers;

/* Creates an empty set with one reference. Returns 0 or -ENOMEM. */
int snoopers_new(struct snoopers **ret);
struct snoopers *snoopers_ref(struct snoopers *snoopers);
void snoopers_unref(struct snoopers *snoopers);
static inline void snoopers_unrefp(struct snoopers **snoopers)
{
	snoopers_unref(*snoopers);
}
#define _cleanup_snoopers_ _cleanup_(snoopers_unrefp)

/* One of the sets to be joined: its entries apply to `probes` only. */
struct snoopers_part {
	struct snoopers *snoopers; /* NULL: none; snoopers_join() takes a reference */
	uint32_t probes;
};

/* Creates the union of sets, with a serial of its own. Returns 0 or -ENOMEM. */
int snoopers_join(struct snoopers **ret, const struct snoopers_part *parts, size_t count);

/*
 * Adds a process, before the set is shared. Returns 0, also if there is no such process now; an
 * errno of looking up its start time; -ENOMEM.
 */
int snoopers_add_id(struct snoopers *snoopers, pid_t pid);

/*
 * Sets, after a restart, the start times of the processes meant by the ids added so far; 0: there
 * is none, the id matches nothing.
 */
void snoopers_set_starts(struct snoopers *snoopers, const uint64_t *start_ticks, size_t count);

/*
 * Adds a name. `probes` 0: all. Returns 0; -EINVAL if `comm` is no valid pattern, or too big a one;
 * -E2BIG if it is longer than SNOOPER_PATTERN_MAX; -ENOMEM.
 */
int snoopers_add_name(struct snoopers *snoopers, const char *comm, const char *cmdline,
		      const char *debugging_dir, uint32_t probes);

/*
 * Adds a container. `pod_namespace` is for BY_POD alone. Returns 0; -EINVAL if `text` is no valid
 * id, path or pattern (or too big a one); -E2BIG if it is too long; -ENOMEM.
 */
int snoopers_add_container(struct snoopers *snoopers, enum container_by by, const char *text,
			   const char *pod_namespace);

/* Returns a number that no other set has, not even a later one at the same address. Never 0. */
uint64_t snoopers_serial(const struct snoopers *snoopers);

size_t snoopers_ids(const struct snoopers *snoopers, const struct id_snooper **ids);
size_t snoopers_names(const struct snoopers *snoopers, const struct name_snooper **names);
size_t snoopers_containers(const struct snoopers *snoopers,
			   const struct container_snooper **containers);
bool snoopers_empty(const struct snoopers *snoopers);

/* Returns whether a name of the set asks for command lines. */
bool snoopers_ask_for_lines(const struct snoopers *snoopers);

/* Returns whether two sets select the same. */
bool snoopers_equal(const struct snoopers *a, const struct snoopers *b);

/* Result of matching a process: probes as bit masks. */
struct match {
	uint32_t probes;	   /* wanted */
	uint32_t maybe;		   /* wanted if the command line matches */
	uint32_t unnamed;	   /* wanted if the container's names match */
	const char *debugging_dir; /* borrowed from the set; NULL: none */
};

/*
 * The process to be matched. line: a process named by proc_id and its forks up to their exec share
 * the named process's (pid, start time).
 */
struct identity {
	pid_t line_pid;
	uint64_t line_start_ticks;
	const char *comm;
	const struct container *container; /* NULL: in none, or not known */
	bool unnamed;			   /* the container's names aren't known yet */
	const char *cgroup;		   /* v2 path; NULL: not known */
};

/* Matches a process by all but its command line. */
void snoopers_match(const struct snoopers *snoopers, const struct identity *who,
		    struct match *match);

/* Matches a process by its container and its cgroup alone. */
void snoopers_match_container(const struct snoopers *snoopers, const struct identity *who,
			      struct match *match);

/*
 * Like snoopers_match(), with the command line of `pid` where `maybe` needs it; what stays in
 * `maybe` could not be read. For jobs: reading it can hang.
 */
void snoopers_match_cmdline(const struct snoopers *snoopers, const struct identity *who, pid_t pid,
			    struct match *match);
