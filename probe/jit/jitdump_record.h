/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a jitdump: a file to which a program appends each function that it makes at run
 * time (perf's format). A header, then records, each with its length; a program writes on, so the
 * last record may be cut. Every byte is hostile. Reading may hang: in a job.
 *
 * Source: tools/perf/Documentation/jitdump-specification.txt, and tools/perf/util/jitdump.c where
 * the two differ: .eh_frame lies before .eh_frame_hdr.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JITDUMP_NAME_MAX  1024 /* bytes; the rest of a longer name is left out */
#define JITDUMP_CODE_MAX  (1u << 30)
#define JITDUMP_BLOCK_MAX 65536

/* Returns whether a path is that of a jitdump of a process, whose pid is that of its own pid
 * namespace: `…/jit-PID.dump`. */
bool jitdump_is_path(const char *path, pid_t pid);

enum jitdump_kind {
	JITDUMP_LOAD,
	JITDUMP_MOVE,
	JITDUMP_DEBUG_INFO,
	JITDUMP_CLOSE,
	JITDUMP_UNWINDING,
};

/* Only the fields of its kind are set. */
struct jitdump_record {
	uint32_t kind; /* enum jitdump_kind, or unknown */
	uint64_t time_ns;
	pid_t pid;			  /* LOAD, MOVE: whose code it is */
	uint64_t start, bytes, index;	  /* LOAD, MOVE: where the code is now, and its number */
	uint64_t from;			  /* MOVE: where it was */
	char name[JITDUMP_NAME_MAX + 1];  /* LOAD; with a NUL */
	uint64_t frames_at, frames_bytes; /* UNWINDING: .eh_frame in the file; 0: none */
};

struct jitdump_reader {
	int fd;
	uint64_t at;  /* offset of the next record */
	uint64_t end; /* the file's bytes that are read */
	uint8_t block[JITDUMP_BLOCK_MAX];
	uint64_t block_at;
	size_t block_bytes;
};

/*
 * Reads the header of a process's file, and begins with the first record. `pid` is that of the
 * process's own pid namespace. Returns 0, or a negative errno: -EAGAIN if there is no whole header
 * yet; -EBADMSG if it is no jitdump of this byte order, version and processor; -ENOTSUP if its
 * times are of another clock; -ESRCH if it is another process's; an errno of reading.
 */
int jitdump_reader_begin(struct jitdump_reader *reader, int fd, pid_t pid);

/* Goes on with the record at that offset. Returns 0, or a negative errno: -ESTALE if the file is
 * shorter than that; an errno of fstat(). */
int jitdump_reader_go_on(struct jitdump_reader *reader, int fd, uint64_t at);

/* Reads the next record. Returns 1; 0 if there is no whole one; or a negative errno: -EBADMSG if
 * it makes no sense, so that nothing behind it can be read; -ESTALE if the file was cut; an errno
 * of reading. */
int jitdump_reader_next(struct jitdump_reader *reader, struct jitdump_record *record);
