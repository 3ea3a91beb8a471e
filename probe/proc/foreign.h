/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens foreign files: files to which a target, a container, or state that either left behind leads
 * us. This is the only way to open them. Opening some files has effects: a device may start a
 * watchdog, a file of the kernel gives away data that its next reader then misses. So the path is
 * first opened with O_PATH, which has no effect. The file is then opened only if it is a regular
 * file, lies in no file system that the kernel makes up, belongs to one of the owners that the
 * caller allows, and is no larger than the caller allows. That very file is opened, even if
 * another one has its name by now.
 *
 * Allocates nothing and needs no stdio, so a forked child may use these functions. May hang,
 * because the file system may be a target's: in a job.
 *
 * Errors, beside those of the path itself (-ENOENT, -ENOTDIR, -EACCES …):
 *
 *   -ELOOP    a link where none is followed; a magic link of /proc; too many links
 *   -EXDEV    `..` out of the folder (FOREIGN_NO_LINKS)
 *   -EINVAL   a device, a FIFO, a socket or a folder
 *   -ENODEV   a file in proc, sysfs, tracefs or another file system that the kernel makes up
 *   -EPERM    the owner is none of those allowed
 *   -ENODATA  fewer bytes than bytes_min
 *   -EFBIG    more bytes than bytes_max
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum foreign_links {
	FOREIGN_IN_ROOT,   /* links are followed as if the folder were "/": none leads out of it */
	FOREIGN_LAST_FILE, /* like FOREIGN_IN_ROOT, but the path's last part may not be a link */
	FOREIGN_NO_LINKS,  /* no part of the path may be a link or lead out of the folder */
};

#define FOREIGN_HERE -1 /* our own root folder */

/* Which files are opened. */
struct foreign_rules {
	const uid_t *owners; /* the users who may own the file; NULL: any */
	size_t owners_count;
	uint64_t bytes_min;
	uint64_t bytes_max; /* 0: no limit, the reader has a bound of its own */
};

struct foreign {
	int root_fd; /* the folder where `path` begins (O_PATH is enough), or FOREIGN_HERE */
	const char *path;
	enum foreign_links links;
	struct foreign_rules rules;
};

/* Opens the file for reading, with O_NONBLOCK. Fills in *stat (may be NULL) also for a file that is
 * then refused. Returns a descriptor, which the caller owns, or a negative errno. */
int foreign_open(const struct foreign *foreign, struct stat *stat);

/* Finds what is there, of any kind, as O_PATH; the rules aren't checked. Returns a descriptor,
 * which the caller owns, or a negative errno. */
int foreign_find(const struct foreign *foreign);

/* Checks the file of an O_PATH descriptor. Returns 0, or the negative errno of its refusal. */
int foreign_check(int found, const struct foreign_rules *rules, struct stat *stat);

/* Checks the file like foreign_check(), and opens it. Returns a descriptor or a negative errno. */
int foreign_open_found(int found, const struct foreign_rules *rules, struct stat *stat);

/* Returns whether stat->st_uid can be trusted: the file lies on a disk or in memory, not with a
 * server (FUSE, NFS), which may say anything, nor in an overlay, which may lie on such. `fd` is the
 * file, or -1. */
bool foreign_tells_owner(int fd, const struct stat *stat);
