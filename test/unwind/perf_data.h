/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a file that `perf record --call-graph dwarf` wrote: what happened to processes and their
 * mappings, and samples with registers and a piece of the stack, in order of time.
 *
 * Source: linux/perf_event.h; tools/perf/Documentation/perf.data-file-format.txt.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DWARF_REGS 17 /* x86-64: 16 general ones and the pc */
#define DWARF_SP   7
#define DWARF_PC   16

struct perf_map {
	uint32_t pid;
	uint64_t start, bytes, file_offset;
	bool executable;
	const char *path;
};

struct perf_sample {
	uint32_t pid, tid;
	bool in_kernel;		    /* the registers are those at the kernel's entry */
	uint64_t regs[DWARF_REGS];  /* by DWARF's numbers */
	const uint8_t *stack;	    /* from the stack pointer on */
	uint64_t stack_bytes;	    /* that could be read */
	uint64_t stack_bytes_asked; /* more were not asked for */
};

/* Who is told, in order of time. */
struct perf_sink {
	void (*map)(void *arg, const struct perf_map *map);
	void (*fork)(void *arg, uint32_t pid, uint32_t parent); /* of processes, not of threads */
	void (*exec)(void *arg, uint32_t pid);
	void (*sample)(void *arg, const struct perf_sample *sample);
	void *arg;
};

struct perf_stats {
	uint64_t samples;   /* handed on */
	uint64_t no_user;   /* without user registers: threads of the kernel, exiting tasks */
	uint64_t not_64bit; /* of 32-bit programs */
	uint64_t lost;	    /* events that perf could not write */
};

/* -EBADMSG: not such a file; -ENOTSUP: recorded with other options; -ENOMEM, errno of reading. */
int perf_data_read(const char *path, const struct perf_sink *sink, struct perf_stats *stats);
