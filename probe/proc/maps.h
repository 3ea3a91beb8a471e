/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A parser of /proc/PID/maps: the executable mappings of a process. May hang: in a job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum mapping_kind {
	MAPPING_FILE,
	MAPPING_JIT, /* anonymous memory: code made at run time */
	MAPPING_VDSO,
	MAPPING_VSYSCALL,
	MAPPING_UPROBES, /* the kernel's page for uprobes: copies of probed instructions run there
			  */
};

struct mapping {
	uint64_t start, end;
	uint64_t file_offset;
	enum mapping_kind kind;
	bool writable;
	uint64_t device; /* as the kernel numbers it: makedev() */
	uint64_t inode;	 /* 0: none */
	char *path;	 /* as the process sees it, without " (deleted)"; NULL unless MAPPING_FILE.
			  * In struct maps: borrowed from `paths`, shared by neighbours */
};

struct maps {
	struct mapping *mappings; /* in order of addresses, without MAPPING_UPROBES */
	size_t count;
	char **paths; /* the paths, without duplicates among 16 neighbours */
	size_t paths_count;
	uint64_t left_out; /* mappings of files whose path is MAPS_LEFT_OUT, past MAPS_PATHS_MAX */
	bool is_cut;	   /* the rest of the mappings is missing: reading took too long */
	/* pages that are executable and not writable, as the kernel counts in mm->exec_vm */
	uint32_t exec_pages;
};

#define MAPPINGS_MAX   65536
#define MAPS_PATHS_MAX (8u << 20) /* bytes of all paths of a process, with their NULs */
#define MAPS_LEFT_OUT  "/[left out]"

/* Reads a process's mappings, until `until_ns` at most (CLOCK_MONOTONIC; 0: no limit). Returns 0,
 * or a negative errno: -ESRCH if the process is gone; -EFBIG for more than MAPPINGS_MAX; -ENOMEM;
 * the errno of reading. The caller owns *maps, see maps_done(). */
int maps_read(pid_t pid, uint64_t until_ns, struct maps *maps);

/* Parses one line of the file, without its line end. Returns 1 if it is an executable mapping,
 * which is stored in *mapping (the caller frees its path); 0 if not; -EINVAL; -ENOMEM. */
int maps_parse_line(const char *line, struct mapping *mapping);

/* Frees what *maps holds. */
void maps_done(struct maps *maps);
