/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Index of the file that the agent in a Java VM writes (jvm_agent/format.h), updated as the file
 * grows, and reader of pieces of code from that file. The file belongs to the target and is
 * hostile: it is bounded and checked, and no link is followed. Reading may hang: call
 * jvmfile_update() and jvmfile_read*() in jobs. A function that finds the index taken by such a
 * job, which may hang, returns -EBUSY, or does nothing; jvmfile_find() and jvmfile_read_found()
 * don't disturb each other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "java/code/jvmcode.h"

struct jvmfile;

struct worker;

/* Makes an index of the file in the data folder `folder_fd` (taken over, also on failure); files
 * have to belong to `owner`. `closer` closes the descriptors in the end, by a job of `whose`; NULL:
 * they are closed when the last reference is dropped. Returns 0 or -ENOMEM. */
int jvmfile_new(struct jvmfile **ret, int folder_fd, uid_t owner, size_t bytes_max,
		struct worker *closer, uint64_t whose);

/* Says that the file's times are of another clock than ours, so that they aren't compared with
 * ours. Call this before the index is shared. */
void jvmfile_set_other_clock(struct jvmfile *file);

/* Add and drop a reference. Any thread. */
struct jvmfile *jvmfile_ref(struct jvmfile *file);
void jvmfile_unref(struct jvmfile *file);

/* Reads what is new in the file. Returns 0, or a negative errno, and then what was known stays:
 * -ENOENT if there is no file; -EACCES if it is no plain file of `owner`; -EBADMSG if it makes no
 * sense; -EFBIG if it is larger than bytes_max; -EBUSY; -ENOMEM; an errno of reading. */
int jvmfile_update(struct jvmfile *file);

/* What the VM's memory tells about the code that a stack's pair of words names. */
struct jvmfile_memory {
	enum {
		JVMFILE_UNKNOWN, /* the VM's memory can't be read */
		JVMFILE_THERE,	 /* code with that id is there now: at [from, to) */
		JVMFILE_GONE,	 /* other code is there */
	} what;
	uint64_t from, to;
};

/*
 * Reads the code that a pair of words names. The caller owns *ret, one reference. The file has no
 * ids, so one entry of the file is never returned for two ids. Returns 0, or a negative errno:
 * -ENOENT if no code is known at that address; -ESTALE if the address had several codes within a
 * moment and it isn't clear which is meant, or the file was changed; -EBADMSG; -EBUSY; -ENOMEM; an
 * errno of reading.
 */
int jvmfile_read(struct jvmfile *file, uint64_t word, uint64_t detail,
		 const struct jvmfile_memory *memory, struct jvmcode **ret);

/* The code that was at an address. */
struct jvmfile_found {
	uint32_t number; /* from 1 on; of this code alone, as long as the index lives */
	enum { JVMFILE_METHOD, JVMFILE_STUB, JVMFILE_INTERPRETER } kind;
};

/* Sets how many codes all further calls of jvmfile_find() together may look at; initially none. */
void jvmfile_allow(struct jvmfile *file, uint32_t steps);

/*
 * Finds the code that had the address (for a return address give the byte before it) from one time
 * until another, by the agent's times (CLOCK_MONOTONIC, ns): for a VM whose memory can't be read.
 * It doesn't wait; one thread at a time. The last answers are cached and cost no step. Returns 0,
 * or a negative errno: -ENOENT if no code is known; -ESTALE if it may be one of several; -EAGAIN if
 * the file wasn't read up to that time; -EBUSY if a job reads what is new; -ENOBUFS if no step is
 * left.
 */
int jvmfile_find(struct jvmfile *file, uint64_t address, uint64_t from_ns, uint64_t until_ns,
		 struct jvmfile_found *ret);

/* Reads the code that was found at an address; its id is the number. Errors as jvmfile_read(). */
int jvmfile_read_found(struct jvmfile *file, uint64_t address, uint32_t number,
		       struct jvmcode **ret);

/* Forgets codes that were unloaded by that time, if there are many. */
void jvmfile_forget(struct jvmfile *file, uint64_t gone_ns);

struct jvmfile_stats {
	uint64_t codes;	   /* known codes, with unloaded ones */
	uint64_t given;	   /* pieces of code that were read, since the index was made */
	uint64_t lost;	   /* codes for which the agent or we had no room, since the file's begin */
	uint64_t bytes;	   /* bytes of the file that were read */
	uint32_t rewrites; /* times that the agent began a new file */
	bool ended;	   /* the agent has stopped */
};
/* Sets *stats; all are 0 if the lock is taken. */
void jvmfile_stats(struct jvmfile *file, struct jvmfile_stats *stats);
