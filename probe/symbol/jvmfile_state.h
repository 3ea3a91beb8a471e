/* SPDX-License-Identifier: GPL-2.0-only */
/* What jvmfile*.c share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "jvm_agent/format.h"
#include "symbol/jvmfile.h"

#define JVMFILE_CODES_MAX   (1U << 17)
#define JVMFILE_METHODS_MAX (1U << 20)
#define JVMFILE_RECORD_MAX  JAVA_SYMBOLS_RECORD_MAX

/* Something that lay in the code cache, by the time it came. */
struct jvmfile_code {
	uint64_t from, to;
	uint64_t loaded_ns, unloaded_ns; /* 0: it is still there */
	uint64_t offset;		 /* of its record */
	uint32_t id;			 /* the one it was given for; 0: none yet */
	uint16_t kind; /* JAVA_CODE, JAVA_STUB; JAVA_LOST: nothing is told of it */
	uint16_t flags;
};

struct jvmfile {
	atomic_uint refs;
	pthread_mutex_t lock;
	int folder_fd, fd;
	uid_t owner;
	size_t bytes_max;
	struct worker *closer;
	uint64_t device, inode, began_ns;
	uint64_t at; /* what is before it was read */
	struct jvmfile_code *codes;
	uint32_t codes_count, codes_room;
	struct map *alive; /* address -> its place in codes */
	uint64_t *methods; /* by number: its record's offset; 0: none */
	uint32_t methods_room;
	uint64_t given;
	struct jvmfile_stats stats;
};

/* The record at an offset, checked, into `record`, which has room for `max` bytes. -EAGAIN: not all
 * of it is there yet; -EBADMSG: it is longer, or none. */
int jvmfile_load(const struct jvmfile *file, uint64_t offset, struct java_record *record,
		 uint32_t max);

/* A piece out of a record. */
int jvmfile_piece(struct jvmfile *file, const struct jvmfile_code *code,
		  const struct java_record *record, struct jvmcode **ret);
