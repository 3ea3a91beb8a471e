/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds CPython in an ELF file (a program or libpython, whatever its name), and its layout in a
 * process that has loaded the file. Both are hostile: work is bounded, every number is checked. May
 * hang: in a job.
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
	uint32_t version;	     /* PY_VERSION_HEX; 0: not known */
	uint64_t runtime, code_type; /* linked addresses of _PyRuntime and PyCode_Type */
	uint64_t function_type;	     /* … of PyFunction_Type; 0: not known */
	struct cpython_range
		linked; /* of the first one of `loop`, the function: its linked addresses */
	/* The code of _PyEval_EvalFrameDefault, with the parts that the compiler put elsewhere
	 * (.cold). */
	struct cpython_range loop[CPYTHON_RANGES_MAX];
	size_t loop_count;
};

/* Finds CPython by its symbols: in .dynsym, .symtab, or the separate debug file (debug_fd; -1: not
 * open). Returns 0, or a negative errno: -ENOENT if the file has no CPython; -EFBIG if there are
 * too many symbols; -ENOMEM; the errno of reading. */
int cpython_find(int fd, const struct elf_image *image, int debug_fd, struct cpython_file *file);

/*
 * Fills in the layout that the walker and the readers need for a process. `bias` is where the file
 * is loaded: addresses minus linked addresses. From 3.13 on the process's memory is read. Returns
 * 0, or a negative errno: -ENOTSUP if the version isn't known; -EBADMSG if the process's offsets
 * make no sense; the errno of reading.
 */
int cpython_of_process(const struct process_memory *memory, const struct cpython_file *file,
		       uint64_t bias, struct python_layout *layout);
