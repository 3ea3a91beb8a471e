/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by jvmfile*.c: the index. All functions are called with the lock held.
 *
 * `reads` is held by who uses the file itself, and so may hang. Who changes the index has `lock`
 * for writing, and `reads` before that. So whoever has `reads` waits for nobody long when it takes
 * `lock`, and whoever hasn't must only try it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "jvm_agent/format.h"
#include "java/files/jvmfile.h"

#define JVMFILE_CODES_MAX   (1U << 17)
#define JVMFILE_METHODS_MAX (1U << 20)
#define JVMFILE_RECORD_MAX  JAVA_SYMBOLS_RECORD_MAX

/* The greatest age of a sample when its code is asked for, and the greatest delay of the agent. */
#define JVMFILE_MOMENT_NS 1000000000ULL

/* A piece of code that was in the code cache. */
struct jvmfile_code {
	uint64_t from, to;
	uint64_t loaded_ns, unloaded_ns; /* unloaded_ns 0: still there */
	uint64_t offset;		 /* of the record; 0: the agent has dropped the record */
	uint32_t id;			 /* the id for which it was returned; 0: none yet */
	uint32_t number;		 /* our number, from 1 on, of this code alone */
	uint16_t kind; /* JAVA_CODE, JAVA_STUB; JAVA_LOST: only the address is known */
	uint16_t flags;
	bool is_interpreter; /* the stub in which all interpreted methods run */
};

struct jvmfile {
	atomic_uint refs;
	pthread_mutex_t reads;
	pthread_rwlock_t lock;
	int folder_fd, fd;
	uid_t owner;
	uint64_t whose; /* the user whose work closing is, job_of() */
	size_t bytes_max;
	struct worker *closer;
	bool other_clock;
	uint64_t device, inode, began_ns;
	uint64_t at;		    /* offset up to which the file was read */
	struct jvmfile_code *codes; /* in the order of load times */
	uint32_t codes_count, codes_room;
	uint32_t numbers;      /* numbers given so far */
	uint64_t forgotten_ns; /* codes unloaded by then may have been dropped from `codes` */
	uint64_t generated_ns; /* time of the last record about code older than the agent */
	uint64_t ended_ns;     /* when the agent stopped; 0: it goes on */
	uint64_t read_ns;      /* all records written until then are known */
	uint32_t *order;       /* numbers of the first `ordered` codes, sorted by `from` */
	uint64_t *reach;       /* the highest `to` below each tree node (jvmfile_index.c) */
	uint32_t ordered;      /* later codes aren't in `order` */
	struct map *alive;     /* address -> number in `codes` */
	uint64_t *methods;     /* for each method's number its record's offset; 0: none */
	uint32_t methods_room;
	uint64_t given; /* under `reads` */
	struct jvmfile_stats stats;
	struct jvmfile_answer *answers; /* jvmfile_answers.c; NULL: none yet */
	atomic_uint steps_left;		/* jvmfile_allow() */
};

/* Takes both locks, the index's for writing; gives them back. Returns 0 or -EBUSY. */
int jvmfile_take(struct jvmfile *file);
void jvmfile_give(struct jvmfile *file);

/* Reads and checks the record at an offset; `record` has room for `max` bytes. Returns 0, or a
 * negative errno: -EAGAIN if the record isn't whole yet, or was changed; -EBADMSG if it is longer
 * than `max` or no record; an errno of reading. */
int jvmfile_load(const struct jvmfile *file, uint64_t offset, struct java_record *record,
		 uint32_t max);

/* Makes a piece of code with that id from a record. Errors as jvmfile_read(). */
int jvmfile_piece(struct jvmfile *file, const struct jvmfile_code *code,
		  const struct java_record *record, uint32_t id, struct jvmcode **ret);

/* Reads a code's record and makes a piece of it. -ESTALE: the file was changed. */
int jvmfile_make(struct jvmfile *file, const struct jvmfile_code *code, uint32_t id,
		 struct jvmcode **ret);

/* ---- jvmfile_codes.c ---- */

/* Adds the code of a record that is at `offset` in the file. Returns 0, -EBADMSG, or -ENOMEM. If
 * there are too many codes and few of them are unloaded, the code is counted as lost. */
int jvmfile_add(struct jvmfile *file, const struct java_record *record, uint64_t offset);
/* Marks the code at the address as unloaded. */
void jvmfile_unload(struct jvmfile *file, uint64_t address, uint64_t time_ns);

/* Takes over knowledge when the agent has begun a new file: codes of `before` (`count`; changed)
 * that are in the new file keep their ids and numbers, and those unloaded lately stay known. */
void jvmfile_keep(struct jvmfile *file, struct jvmfile_code *before, uint32_t count);

/* Numbers the new codes. */
void jvmfile_number(struct jvmfile *file);

/* ---- jvmfile_index.c ---- */

#define JVMFILE_HITS_MAX 64

/* Bound of the codes at one address that a job looks at: more than a VM leaves there. */
#define JVMFILE_READ_MOST 4096

/* Numbers in `codes` of the codes that were found, the newest first. */
struct jvmfile_hits {
	uint32_t places[JVMFILE_HITS_MAX], count;
	uint32_t looked; /* codes that were looked at, which is the cost */
	bool more;	 /* there are more than `most`; newer ones may be missing */
};

/* Finds the codes that hold the address, or end right before it, as a call may be the last
 * instruction. Ends early if there are more than `most`. */
void jvmfile_hits(const struct jvmfile *file, uint64_t address, uint32_t most,
		  struct jvmfile_hits *hits);

/* Sorts the added codes into `order`. */
void jvmfile_order(struct jvmfile *file);
/* Empties `order`, as numbers in `codes` have changed. */
void jvmfile_disorder(struct jvmfile *file);

/* ---- jvmfile_answers.c ---- */

/* An answer of jvmfile_find() for `until_ns` and any begin in [from_ns, to_ns]. */
struct jvmfile_answer {
	uint64_t address, from_ns, to_ns, until_ns;
	struct jvmfile_found found; /* number 0: no answer */
};

/* Returns the cached answer; NULL: none. */
const struct jvmfile_answer *jvmfile_recall(const struct jvmfile *file, uint64_t address,
					    uint64_t from_ns, uint64_t until_ns);
void jvmfile_remember(struct jvmfile *file, const struct jvmfile_answer *answer);
/* Empties the cache, as the index has changed. */
void jvmfile_forget_answers(struct jvmfile *file);
