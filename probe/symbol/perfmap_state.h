/* SPDX-License-Identifier: GPL-2.0-only */
/* What perfmap.c (the registry), perfmap_reading.c (the jobs that read maps) and perfmap_answers.c
 * (addresses and their names, within a bound of memory) share. Nobody else includes it. */
#pragma once

#include <stdatomic.h>

#include "file/file_state.h"
#include "symbol/perfmap.h"

/* A map's file, as it was seen last. */
struct seen {
	struct perfmap_found found; /* inode 0: there was none */
	bool looked;		    /* by this process; else it is what it was before an exec */
	uint64_t from;		    /* lines before that aren't its own */
	/* Bytes that it had at the end of the last round, and before that round's window began:
	 * what comes while it is read may be of either. */
	uint64_t end, settled;
};

/* Of a round; answered: sorted, with names. */
struct answers {
	struct perfmap_question *questions;
	size_t count, capacity;
	struct buf names;
};

/* What all maps of a user's processes may take in a round: so hard links of a large file, and
 * processes without number, cost no more than one. Jobs that are late have it for longer. */
struct perfmap_budget {
	atomic_uint refs;
	uint64_t whose;
	atomic_uint_fast64_t ns, bytes; /* that were used */
	struct perfmap_budget *next;	/* the registry's */
};

/* Of that user in this round, with a reference; NULL: no memory. */
struct perfmap_budget *perfmap_budget_of(struct symbol_files *files, uint64_t whose);
void perfmap_budget_unref(struct perfmap_budget *budget); /* of NULL: nothing */

struct perfmap {
	atomic_uint refs;
	struct perfmap_process process;
	struct held *held; /* the map; NULL: it isn't open */
	struct seen seen;
	struct answers answers;
	unsigned readings;  /* that go on */
	size_t asked;	    /* addresses that this round waits for */
	unsigned of_rounds; /* readings of these that go on */
	bool starved;	    /* there was no time for it: it is first in the next round */
	uint64_t last_round;
	bool hangs;	     /* reading it was given up … */
	bool is_slow;	     /* … for it has computed */
	bool answered, used; /* in this round; used: somebody may have a pointer to it */
};

/* Frees what it has. */
void answers_done(struct answers *answers);

/* False: there is no room for it. */
bool answers_ask(struct answers *answers, uint64_t address);

/* Of answered ones; NULL: it has no name. */
const char *answers_find(const struct answers *answers, uint64_t address, size_t *len);

/* Looks its questions up. 0, or as perfmap_read(). */
int answers_read(struct answers *answers, int fd, struct perfmap_lookup *lookup);

void perfmap_unref(struct perfmap *map); /* of NULL: nothing */

/* Has the map opened, and of a round its questions answered, which are the job's then. False: no
 * memory. */
bool perfmap_submit(struct symbol_files *files, struct perfmap *map, bool of_round);

/* So many addresses have no name, for that. */
void perfmap_lose(struct symbol_files *files, enum perfmap_loss loss, uint64_t addresses);
