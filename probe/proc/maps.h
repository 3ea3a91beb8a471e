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
	char *path; /* as the process sees it, without " (deleted)"; NULL unless MAPPING_FILE */
};

struct maps {
	struct mapping *mappings; /* by address; but MAPPING_UPROBES */
	size_t count;
	uint32_t
		exec_pages; /* as the kernel counts them in mm->exec_vm: executable, not writable */
};

#define MAPPINGS_MAX 65536

/* -ESRCH the process is gone, -EFBIG more than MAPPINGS_MAX, -ENOMEM, errno of reading. */
int maps_read(pid_t pid, struct maps *maps);

/* One line of the file, without its end. 1: an executable mapping was written to `mapping` (whose
 * path the caller frees), 0: of no interest, -EINVAL, -ENOMEM. */
int maps_parse_line(const char *line, struct mapping *mapping);

void maps_done(struct maps *maps);
