/* SPDX-License-Identifier: GPL-2.0-only */
/* Executable mappings of a process, read from /proc/PID/maps. In a job: it can hang. */
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
	MAPPING_UPROBES, /* the kernel's page for probes: what runs there stands for other code */
};

struct mapping {
	uint64_t start, end;
	uint64_t file_offset;
	enum mapping_kind kind;
	bool writable;
	uint64_t device; /* as the kernel numbers it: makedev() */
	uint64_t inode;	 /* 0: none */
	char *path;	 /* as the process sees it, without " (deleted)"; NULL unless MAPPING_FILE.
			  * Of struct maps: borrowed from there, the same for neighbours */
};

struct maps {
	struct mapping *mappings; /* by address; but MAPPING_UPROBES */
	size_t count;
	char **paths; /* each once, as far as that is seen at once */
	size_t paths_count;
	uint64_t left_out; /* mappings of files without their paths, for all are too long … */
	bool is_cut;	   /* … and those behind these, for reading took too long */
	uint32_t
		exec_pages; /* as the kernel counts them in mm->exec_vm: executable, not writable */
};

#define MAPPINGS_MAX   65536
#define MAPS_PATHS_MAX (8u << 20) /* bytes, with their NULs, of a process */
#define MAPS_LEFT_OUT  "/[left out]"

/* `until_ns`: of CLOCK_MONOTONIC, 0: however long it takes. -ESRCH the process is gone, -EFBIG more
 * than MAPPINGS_MAX, -ENOMEM, errno of reading. */
int maps_read(pid_t pid, uint64_t until_ns, struct maps *maps);

/* One line of the file, without its end. 1: an executable mapping was written to `mapping` (whose
 * path the caller frees), 0: of no interest, -EINVAL, -ENOMEM. */
int maps_parse_line(const char *line, struct mapping *mapping);

void maps_done(struct maps *maps);
