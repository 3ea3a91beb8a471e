/* SPDX-License-Identifier: GPL-2.0-only */
/* What jvmfile*.c share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "jvm_agent/format.h"
#include "java/files/jvmfile.h"

#define JVMFILE_CODES_MAX   (1U << 17)
#define JVMFILE_METHODS_MAX (1U << 20)
#define JVMFILE_RECORD_MAX  JAVA_SYMBOLS_RECORD_MAX

/* A sample is as old at most when its code is asked for, and the agent as late. */
#define JVMFILE_MOMENT_NS 1000000000ULL

/* Something that lay in the code cache, by the time it came. */
struct jvmfile_code {
	uint64_t from, to;
	uint64_t loaded_ns, unloaded_ns; /* 0: it is still there */
	uint64_t offset;		 /* of its record; 0: the agent has dropped that */
	uint32_t id;			 /* the one it was given for; 0: none yet */
	uint32_t number;		 /* ours: from 1 on, of this one alone */
	uint16_t kind; /* JAVA_CODE, JAVA_STUB; JAVA_LOST: nothing is told of it */
	uint16_t flags;
	bool is_interpreter; /* the stub in which all that is interpreted runs */
};

struct jvmfile {
	atomic_uint refs;
	pthread_mutex_t lock;
	int folder_fd, fd;
	uid_t owner;
	uint64_t whose; /* closing it is, as a job's */
	size_t bytes_max;
	struct worker *closer;
	bool other_clock;
	uint64_t device, inode, began_ns;
	uint64_t at; /* what is before it was read */
	struct jvmfile_code *codes;
	uint32_t codes_count, codes_room;
	uint32_t numbers;      /* given so far */
	uint64_t forgotten_ns; /* what had gone by then may not be in `codes` any more */
	uint64_t generated_ns; /* the last one told that was there before the agent */
	uint64_t ended_ns;     /* when the agent stopped; 0: it goes on */
	uint64_t read_ns;      /* all that was told until then is known */
	uint32_t *order;       /* places in codes by where they begin, `ordered` of them … */
	uint64_t *reach;       /* … and how far those below a node go (jvmfile_index.c) */
	uint32_t ordered;      /* what comes behind them in codes isn't in there */
	struct map *alive;     /* address -> its place in codes */
	uint64_t *methods;     /* by number: its record's offset; 0: none */
	uint32_t methods_room;
	uint64_t given;
	struct jvmfile_stats stats;
	struct jvmfile_answer *answers; /* jvmfile_answers.c; NULL: none yet */
	atomic_uint steps_left;		/* jvmfile_allow() */
};

/* The record at an offset, checked, into `record`, which has room for `max` bytes. -EAGAIN: not all
 * of it is there yet; -EBADMSG: it is longer, or none. */
int jvmfile_load(const struct jvmfile *file, uint64_t offset, struct java_record *record,
		 uint32_t max);

/* The piece that a record tells of, with that id. */
int jvmfile_piece(struct jvmfile *file, const struct jvmfile_code *code,
		  const struct java_record *record, uint32_t id, struct jvmcode **ret);

/* The same of a code, whose record is read. -ESTALE: the file was changed. */
int jvmfile_make(struct jvmfile *file, const struct jvmfile_code *code, uint32_t id,
		 struct jvmcode **ret);

/* ---- jvmfile_codes.c ---- */

/* What a record at an offset of the file tells of. -EBADMSG, -ENOMEM; where there are too many, and
 * few of them have gone, it is counted as lost. */
int jvmfile_add(struct jvmfile *file, const struct java_record *record, uint64_t offset);
void jvmfile_unload(struct jvmfile *file, uint64_t address, uint64_t time_ns);

/* The file was written anew: of what was known before (`count`, changed) that which is still told
 * of keeps its numbers, and that which went lately is still known. */
void jvmfile_keep(struct jvmfile *file, struct jvmfile_code *before, uint32_t count);

/* Numbers for all that have none. */
void jvmfile_number(struct jvmfile *file);

/* ---- jvmfile_index.c ---- */

#define JVMFILE_HITS_MAX 64

/* Of what went where it lay a job looks at so much: that is more than a VM leaves there. */
#define JVMFILE_READ_MOST 4096

/* Places in codes, the newest of those that were found first. */
struct jvmfile_hits {
	uint32_t places[JVMFILE_HITS_MAX], count;
	uint32_t looked; /* codes that were looked at: what it cost */
	bool more;	 /* there are more than `most`, newer ones perhaps */
};

/* Those that have the address, or end right before it: a call may be the last instruction. It ends
 * where there are more than `most`. */
void jvmfile_hits(const struct jvmfile *file, uint64_t address, uint32_t most,
		  struct jvmfile_hits *hits);

/* Puts what was added into the order. */
void jvmfile_order(struct jvmfile *file);
/* All are at other places by now. */
void jvmfile_disorder(struct jvmfile *file);

/* ---- jvmfile_answers.c ---- */

/* What an address was from `from_ns` to `to_ns`, each of them until `until_ns`. */
struct jvmfile_answer {
	uint64_t address, from_ns, to_ns, until_ns;
	struct jvmfile_found found; /* number 0: none */
};

/* The one that was remembered. NULL: none. */
const struct jvmfile_answer *jvmfile_recall(const struct jvmfile *file, uint64_t address,
					    uint64_t from_ns, uint64_t until_ns);
void jvmfile_remember(struct jvmfile *file, const struct jvmfile_answer *answer);
/* The file has told more. */
void jvmfile_forget_answers(struct jvmfile *file);
