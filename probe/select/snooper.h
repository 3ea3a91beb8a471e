/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Snoopers: selectors of processes. A set is a union of entries; immutable once made, shared by
 * reference (jobs on other threads hold one).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "container/container.h"

#define SNOOPER_PATTERN_MAX 255

/* One process. */
struct id_snooper {
	pid_t pid;
	uint64_t start_ticks; /* of the process that had the pid when it was named … */
	bool existed;	      /* … if there was one */
	uint32_t probes;      /* counts for these only */
};

/* All processes whose name and command line match. */
struct name_snooper {
	char *comm;	     /* regular expression; "" = any */
	char *cmdline;	     /* substring; "" = any */
	char *debugging_dir; /* "" = none */
	uint32_t probes;     /* counts for these only */
	bool probes_given;
	void *pattern;	  /* compiled comm; NULL = any */
	atomic_bool dear; /* a name made it take too many steps: it matches nothing any more */
};

/* How containers are chosen; the order is that of GET. */
enum container_by {
	BY_POD_ID, /* Kubernetes' UID, with or without hyphens; podman's pod id, 12 digits or more
		    */
	BY_CONTAINER_ID,   /* 12 to 64 hexadecimal digits, the first of its id, or of the one that
			      it runs in */
	BY_CONTAINER_NAME, /* the whole name; "/…/": a pattern */
	BY_CGROUP, /* path in the v2 hierarchy: that one and all below it; no container is needed */
	BY_POD,	   /* the pod's name and its namespace ("": any) */
	BY_IMAGE,  /* the image's name, with or without registry and tag; "/…/": a pattern */
	CONTAINER_BY_COUNT,
};

/* All processes of the containers that it chooses. */
struct container_snooper {
	enum container_by by;
	char *text;	     /* as it was named */
	char *pod_namespace; /* of BY_POD */
	char id[65];	     /* of ids: lower case, without hyphens */
	uint32_t probes;     /* counts for these only */
	void *pattern;	     /* compiled; NULL: none */
};

struct snoopers;

/* An empty set with one reference. -ENOMEM */
int snoopers_new(struct snoopers **ret);
struct snoopers *snoopers_ref(struct snoopers *snoopers);
void snoopers_unref(struct snoopers *snoopers);
static inline void snoopers_unrefp(struct snoopers **snoopers)
{
	snoopers_unref(*snoopers);
}
#define _cleanup_snoopers_ _cleanup_(snoopers_unrefp)

/* One of the sets that are joined: what it chooses counts for `probes` only. */
struct snoopers_part {
	struct snoopers *snoopers; /* NULL: none; a reference is taken */
	uint32_t probes;
};

/* The union of some sets, with a serial of its own. -ENOMEM */
int snoopers_join(struct snoopers **ret, const struct snoopers_part *parts, size_t count);

/* Adding, before the set is shared. The start time is looked up: -errno of that, but for -ESRCH (no
 * such process now). -ENOMEM */
int snoopers_add_id(struct snoopers *snoopers, pid_t pid);

/* After a restart: the processes meant by the ids added so far are those that started then, as
 * id_snooper.start_ticks; 0: there is none, that id matches nothing. */
void snoopers_set_starts(struct snoopers *snoopers, const uint64_t *start_ticks, size_t count);

/* -EINVAL: `comm` is no valid expression, or one too big; -E2BIG: over SNOOPER_PATTERN_MAX;
 * -ENOMEM. `probes` 0: all. */
int snoopers_add_name(struct snoopers *snoopers, const char *comm, const char *cmdline,
		      const char *debugging_dir, uint32_t probes);

/* -EINVAL: no id, path or expression of that kind (or too big a one); -E2BIG: too long; -ENOMEM.
 * `pod_namespace`: of BY_POD alone. */
int snoopers_add_container(struct snoopers *snoopers, enum container_by by, const char *text,
			   const char *pod_namespace);

/* Tells sets apart, also from one that was at the same address before. Never 0. */
uint64_t snoopers_serial(const struct snoopers *snoopers);

size_t snoopers_ids(const struct snoopers *snoopers, const struct id_snooper **ids);
size_t snoopers_names(const struct snoopers *snoopers, const struct name_snooper **names);
size_t snoopers_containers(const struct snoopers *snoopers,
			   const struct container_snooper **containers);
bool snoopers_empty(const struct snoopers *snoopers);

/* Whether two sets choose the same. */
bool snoopers_equal(const struct snoopers *a, const struct snoopers *b);

/* What is known of a process while it is matched. */
struct match {
	uint32_t probes;	   /* wanted for sure */
	uint32_t maybe;		   /* wanted if the command line matches */
	uint32_t unnamed;	   /* wanted if the container's names say so */
	const char *debugging_dir; /* borrowed from the set; NULL: none */
};

/*
 * Who is matched. The process that a proc_id entry names, and what that forks until it execs, have
 * the same line: the named process's pid and start.
 */
struct identity {
	pid_t line_pid;
	uint64_t line_start_ticks;
	const char *comm;
	const struct container *container; /* NULL: in none, or not known */
	bool unnamed;			   /* its names aren't known yet */
	const char *cgroup;		   /* its v2 path; NULL: not known */
};

void snoopers_match(const struct snoopers *snoopers, const struct identity *who,
		    struct match *match);

/* What its container and its cgroup alone decide. */
void snoopers_match_container(const struct snoopers *snoopers, const struct identity *who,
			      struct match *match);

/* As above, with the command line of `pid` where `maybe` would need it. In a job: it can hang. */
void snoopers_match_cmdline(const struct snoopers *snoopers, const struct identity *who, pid_t pid,
			    struct match *match);
