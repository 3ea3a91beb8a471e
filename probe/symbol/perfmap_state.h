/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by perfmap.c (the registry), perfmap_reading.c (the jobs that read maps) and
 * perfmap_answers.c (addresses and their names, within a bound of memory). Only these include it.
 */
#pragma once

#include <stdatomic.h>

#include "file/registry_parts.h"
#include "symbol/perfmap.h"

/* A map's file, as it was seen last. */
struct perfmap_seen {
	struct perfmap_found found; /* inode 0: there was no file */
	bool looked;		    /* in this incarnation; else `found` is from before an exec */
	uint64_t from;		    /* lines before this offset aren't the process's own */
	/* Bytes that the file had at the end of the last round, and before that round's window
	 * began: lines that come during the reading may be of either window. */
	uint64_t end, settled;
};

/* The questions of a round; once answered they are sorted and have names. */
struct answers {
	struct perfmap_question *questions;
	size_t count, capacity;
	struct buf names;
};

/* What the maps of one user's processes may take in a round: so hard links of a large file, and
 * countless processes, cost no more than one map. A late job keeps its round's budget. */
struct perfmap_budget {
	atomic_uint refs;
	uint64_t whose;
	atomic_uint_fast64_t ns, bytes; /* used so far */
	struct perfmap_budget *next;	/* in symbol_files.budgets */
};

/* Returns a reference to the user's budget in this round; NULL without memory. */
struct perfmap_budget *perfmap_budget_of(struct symbol_files *files, uint64_t whose);
void perfmap_budget_unref(struct perfmap_budget *budget); /* NULL is allowed */

struct perfmap {
	atomic_uint refs;
	struct perfmap_process process;
	struct held_fd *held; /* the open map; NULL: not open */
	struct perfmap_seen seen;
	struct answers answers;
	unsigned readings;  /* jobs that aren't done */
	size_t asked;	    /* addresses that this round waits for */
	unsigned of_rounds; /* those of `readings` that a round asked for */
	bool starved;	    /* there was no time for the map: it is first in the next round */
	uint64_t last_round;
	bool hangs;	     /* a reading was given up … */
	bool is_slow;	     /* … because it computed too long */
	bool answered, used; /* in this round; used: somebody may have a pointer to the map */
};

/* Frees the questions and names. */
void answers_done(struct answers *answers);

/* Adds a question; returns false if there is no room. */
bool answers_ask(struct answers *answers, uint64_t address);

/* Returns the name of an address, once answered; NULL if it has none. */
const char *answers_find(const struct answers *answers, uint64_t address, size_t *len);

/* Looks up the questions in the open map. Returns 0, or an error of perfmap_read(). */
int answers_read(struct answers *answers, int fd, struct perfmap_lookup *lookup);

void perfmap_unref(struct perfmap *map); /* NULL is allowed */

/* Submits a job that opens the map, and, with of_round, takes over the map's questions and answers
 * them. Returns false without memory. */
bool perfmap_submit(struct symbol_files *files, struct perfmap *map, bool of_round);

/* Counts addresses that have no name for that reason. */
void perfmap_lose(struct symbol_files *files, enum perfmap_loss loss, uint64_t addresses);
