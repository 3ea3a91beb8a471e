/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPython in a file (a program or libpython, whatever its name) and in a process that has it
 * loaded. Both are hostile: bounded work, every number checked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/elf.h"
#include "proc/process_memory.h"
#include "python/layout.h"

#define CPYTHON_RANGES_MAX 16

struct cpython_range {
	uint64_t from, to; /* offsets in the file */
};

struct cpython_file {
	uint32_t version;	     /* PY_VERSION_HEX; 0: it could not be told */
	uint64_t runtime, code_type; /* addresses of _PyRuntime and PyCode_Type, as linked */
	/* The code of _PyEval_EvalFrameDefault, with the parts that the compiler put elsewhere
	 * (.cold); by offset. */
	struct cpython_range loop[CPYTHON_RANGES_MAX];
	size_t loop_count;
};

/* Looks for it by its symbols: in .dynsym, .symtab, or in the separate debug file, if that is open
 * (debug_fd, else -1). -ENOENT: there is none; or the errno of reading. In a job. */
int cpython_find(int fd, const struct elf_image *image, int debug_fd, struct cpython_file *file);

/*
 * What the walker and the readers need of a process in which the file lies at `bias` (its linked
 * addresses plus that). From 3.13 on the process's memory is read. -ENOTSUP: no such version is
 * known; -EBADMSG: what it says makes no sense; or the errno of reading. In a job.
 */
int cpython_of_process(const struct process_memory *memory, const struct cpython_file *file,
		       uint64_t bias, struct python_layout *layout);
