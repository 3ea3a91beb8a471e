/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filter of unwind rows that finds LuaJIT's interpreter in them, and says of it what is true. The
 * interpreter is one stretch of hand-written code, of which CFI says that its frame has 80 bytes
 * everywhere: also where the frame is set up or left, where the interpreter calls a part of itself,
 * and where it saves registers when made code is left. The filter gives the frame's true size where
 * it is set up and left, and RULE_LUAJIT elsewhere: there the walk searches for the frame
 * (bpf/unwind/unwind_luajit.h).
 *
 * The interpreter is known by its CFI and by its code: how it sets up and leaves its frame, and
 * where that frame and the state have each other's address. Other layouts (references of 32 bits,
 * other processors) keep the rows of their CFI. Reads the file, which may hang: in a job.
 *
 * Source: LuaJIT 2.1, lj_frame.h, vm_x64.dasc.
 */
#pragma once

#include "cfi/rule.h"
#include "proc/elf.h"

struct luajit_rows {
	int fd;
	const struct elf_image *image;
	row_sink sink;
	void *arg;
	bool found;    /* the interpreter was found so far */
	bool holds;    /* a row that may be the interpreter's, until it is known where it ends */
	uint64_t from; /* of that row */
	struct rule rule;
};

/* Begins with an open file; the sink gets the rows. All is borrowed. */
void luajit_rows_begin(struct luajit_rows *rows, int fd, const struct elf_image *image,
		       row_sink sink, void *arg);

/* Takes a row (row_sink, of struct luajit_rows). Returns what the sink returned, or a negative
 * errno: -ENOMEM; an errno of reading. */
int luajit_rows_take(void *arg, uint64_t address, const struct rule *rule);

/* To be called after the last row. Returns as luajit_rows_take(). */
int luajit_rows_end(struct luajit_rows *rows);
