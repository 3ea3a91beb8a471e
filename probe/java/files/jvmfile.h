/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the agent in a Java VM wrote (jvm_agent/format.h): an index of it, brought up to date as the
 * file grows, and pieces of code out of it. The file is the target's, hostile: bounded, checked,
 * opened without following a link. It may hang: all but ref and unref in jobs. A job that finds
 * another one in there (which may hang) gets -EBUSY.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "java/code/jvmcode.h"

struct jvmfile;

struct worker;

/* In the data folder `folder_fd` (taken over whatever is returned), whose files have to be
 * `owner`'s. `closer` closes what is open in the end, by a job of `whose`; NULL: whoever has the
 * last reference. -ENOMEM */
int jvmfile_new(struct jvmfile **ret, int folder_fd, uid_t owner, size_t bytes_max,
		struct worker *closer, uint64_t whose);

/* Its times are of another clock than ours, so nothing is told by them. Before it is shared. */
void jvmfile_set_other_clock(struct jvmfile *file);

/* On any thread. */
struct jvmfile *jvmfile_ref(struct jvmfile *file);
void jvmfile_unref(struct jvmfile *file);

/* Reads what is new. -ENOENT: there is no file; -EACCES: it isn't a plain file of its owner's;
 * -EBADMSG: what is there makes no sense; -EFBIG; or the errno of reading. What was known stays. */
int jvmfile_update(struct jvmfile *file);

/* Whether the code that a pair of words names is still in the VM, as far as its memory tells. */
struct jvmfile_memory {
	enum {
		JVMFILE_UNKNOWN, /* its memory can't be read */
		JVMFILE_THERE,	 /* that id is there now: at [from, to) */
		JVMFILE_GONE,	 /* another one is there */
	} what;
	uint64_t from, to;
};

/*
 * The code that such a pair names; *ret has one reference. The file has no ids: what had an address
 * once is never given for two of them. -ENOENT: nothing is known of that address; -ESTALE: it had
 * several within a moment, and it can't be told which one it is.
 */
int jvmfile_read(struct jvmfile *file, uint64_t word, uint64_t detail,
		 const struct jvmfile_memory *memory, struct jvmcode **ret);

/* What an address was. */
struct jvmfile_found {
	uint32_t number; /* from 1 on; of this code alone, as long as there is the file */
	enum { JVMFILE_METHOD, JVMFILE_STUB, JVMFILE_INTERPRETER } kind;
};

/* How many codes jvmfile_find() may look at from now on, all times together; none before. */
void jvmfile_allow(struct jvmfile *file, uint32_t steps);

/*
 * The code that had the address (of a call's return the byte before it) from one time until
 * another, by the times that the agent told: for a VM whose memory tells nothing. It doesn't wait,
 * on any thread; what was found last costs no step. -ENOENT: none that is known; -ESTALE: it may
 * have been one of several; -EAGAIN: the file wasn't read so far; -EBUSY: a job reads it; -ENOBUFS:
 * no step is left.
 */
int jvmfile_find(struct jvmfile *file, uint64_t address, uint64_t from_ns, uint64_t until_ns,
		 struct jvmfile_found *ret);

/* The piece that was found at an address. Its id is the number. Errors as jvmfile_read(). */
int jvmfile_read_found(struct jvmfile *file, uint64_t address, uint32_t number,
		       struct jvmcode **ret);

/* Drops what had gone by that time, where it is much. */
void jvmfile_forget(struct jvmfile *file, uint64_t gone_ns);

struct jvmfile_stats {
	uint64_t codes;	   /* known, those that have gone included */
	uint64_t given;	   /* pieces that were read out of it, since it was opened */
	uint64_t lost;	   /* for which the agent, or we, had no room, since the file's begin */
	uint64_t bytes;	   /* of the file that were read */
	uint32_t rewrites; /* how often the agent began a new one */
	bool ended;	   /* the agent has stopped */
};
void jvmfile_stats(struct jvmfile *file, struct jvmfile_stats *stats);
