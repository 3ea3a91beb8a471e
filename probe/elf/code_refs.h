/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scan of a file's code for what refers to other code: calls, jumps, addresses that are taken. It
 * tells where functions begin in code that has neither symbols nor CFI. x86-64, i386 and arm64.
 *
 * On x86 instructions aren't decoded: each byte that is a call's opcode counts as one. Some lead
 * nowhere; code_refs_may_begin() refuses most of these. The file is hostile and reading may hang:
 * in a job.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proc/elf.h"

enum code_ref {
	CODE_CALL,
	CODE_ADDRESS, /* code takes the address; it may be one of data */
	CODE_NUMBER, /* a number that may be an address if the file is loaded where it was linked */
	CODE_JUMP,   /* a call at a function's end, or a jump inside of a function */
};

/* Gets each reference: the address of the instruction, and where that leads; both as linked.
 * A result other than 0 ends the scan. */
typedef int (*code_ref_sink)(void *arg, uint64_t site, uint64_t target, enum code_ref kind);

#define CODE_ALL 15u /* kinds */

/* `kinds`: 1 << enum code_ref. `end_ns`: of the thread's CPU time; 0: there is no end. Returns 0,
 * the sink's result, or a negative errno: -ETIME; -ENOMEM; an errno of reading. Of other
 * processors' files there are no references. */
int code_refs_scan(int fd, const struct elf_image *image, unsigned kinds, code_ref_sink sink,
		   void *arg, uint64_t end_ns);

/* Returns whether a function may begin at the address, by the bytes before: it is aligned, or they
 * are padding or the end of other code. */
bool code_refs_may_begin(int fd, const struct elf_image *image, uint64_t address);

/* Returns the address of the first instruction from `address` on that isn't padding; `address` if
 * there is none near. */
uint64_t code_refs_skip_padding(int fd, const struct elf_image *image, uint64_t address);
