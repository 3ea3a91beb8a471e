/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one way to open what is foreign: a file to which a target, a container or what either left
 * behind leads us. Opening some files does things: a device may start a watchdog, a file of the
 * kernel's own gives away what its next reader then misses. So a path is looked at by O_PATH first,
 * which opens nothing; what is there is opened only if it is a regular file, lies in no file system
 * that the kernel makes up, belongs to somebody who has a say, and is no larger than its reader
 * takes. Then that very file is opened, whatever has its name by now.
 *
 * Allocates nothing and needs no stdio, so a forked child may use it. May hang, for the file system
 * may be a target's: in a job.
 *
 * What is refused, beside the errno of the path itself (-ENOENT, -ENOTDIR, -EACCES …):
 *
 *   -ELOOP    a link where none is followed; a link of /proc that leads anywhere; too many links
 *   -EXDEV    `..` out of the folder (FOREIGN_NO_LINKS)
 *   -EINVAL   a device, a FIFO, a socket, a folder
 *   -ENODEV   in proc, sysfs, tracefs or another file system that is the kernel's word
 *   -EPERM    somebody else's
 *   -ENODATA  fewer bytes than there have to be
 *   -EFBIG    more bytes than are taken
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum foreign_links {
	FOREIGN_IN_ROOT,   /* followed as if the folder were "/": none leads out of it */
	FOREIGN_LAST_FILE, /* the same, but the last part of the path has to be the file itself */
	FOREIGN_NO_LINKS,  /* no part of the path may be one, nor lead upwards */
};

#define FOREIGN_HERE -1 /* our own root */

/* What is taken. */
struct foreign_rules {
	const uid_t *owners; /* one of these; NULL: whoever's it is */
	size_t owners_count;
	uint64_t bytes_min;
	uint64_t bytes_max; /* 0: any, its reader has a bound of its own */
};

struct foreign {
	int root_fd; /* of the folder that the path begins in (O_PATH will do), or FOREIGN_HERE */
	const char *path;
	enum foreign_links links;
	struct foreign_rules rules;
};

/* Opens it for reading, not waiting for anybody. *stat (or NULL) tells of what was looked at, also
 * of what is refused then. A descriptor or a negative errno. */
int foreign_open(const struct foreign *foreign, struct stat *stat);

/* Looks at what was found by O_PATH: 0, or why it isn't taken. */
int foreign_check(int found, const struct foreign_rules *rules, struct stat *stat);

/* The same, and opens it. */
int foreign_open_found(int found, const struct foreign_rules *rules, struct stat *stat);

/* Whether it is the kernel's own word whom the file belongs to: on a disk or in memory, not where a
 * server (FUSE, NFS) says so, nor in an overlay, which may be of such. fd: the file, or -1. */
bool foreign_tells_owner(int fd, const struct stat *stat);
