/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that a process makes at run time and tells debuggers of (jit/jit_code.h): what the last
 * look at it found, and what earlier looks found that is gone. A process changes its code as it
 * likes, so it is looked at again when stacks come that have such code. Unlike other runtimes'
 * answers this one takes over from the one before. Loop thread only, but for the question.
 */
#pragma once

#include "jit/jit_code.h"
#include "runtime/runtime.h"
#include "unwind/tables.h"

struct made_code {
	/* The file is the one with the descriptor. Errors: as jit_code_read(). */
	struct runtime runtime;
	struct jit_place found;
	bool is_unchanged;	/* the answer says no more than that */
	struct jit_code code;	/* valid if runtime.error is 0 */
	uint64_t *from_ns;	/* of code.objects: since then each may have been there */
	struct made_gone *gone; /* objects that are no longer there */
	size_t gone_count;	/* by until_ns, the latest first */
	uint64_t forgot_ns;	/* before that there may have been others; 0: all are known */
	uint64_t read_ns;	/* when the look began, CLOCK_MONOTONIC */
	uint64_t cpu_ns;	/* CPU time that it took, with that of telling the kernel's side */
	struct table *table;	/* of the rows, with a reference; NULL: none */
};

/* Returns the rows for the spans of the process (mappings/spans.h), whose table is in the arena;
 * borrowed. NULL: there are none. `code` may be NULL. */
const struct jit_rows *made_code_rows(struct made_code *code, struct tables *tables);

/* Returns the name of what was at the address at that time, *len bytes, which *object holds
 * (borrowed); NULL if nothing is known, or it may have been one of two. `code` may be NULL. */
const char *made_code_find(const struct made_code *code, uint64_t address, uint64_t ns,
			   struct jit_object **object, size_t *len);

/* Returns where to look again, and what is known there. */
struct jit_place made_code_place(const struct made_code *code);

/* Returns how long not to look again, so that looks take 2 % of a CPU at most. */
uint64_t made_code_rest_ns(const struct made_code *code);

/* The kind of runtime (runtime/runtime.h). */
extern const struct runtime_kind made_code_kind;
