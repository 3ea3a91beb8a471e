/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rows from code, for functions that have no CFI: follows each way through a function's
 * instructions and what they do to the stack pointer, from the call on. A row is given where each
 * way says the same; where the height isn't known the row is RULE_NONE. Nothing is guessed but what
 * the ABI promises: a call leaves the stack pointer, rbx, rbp and r12 to r15 as they were.
 *
 * x86-64 only; the code is hostile: memory and time are bounded, whatever it says.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/rule.h"

#define FLOW_BYTES_MAX	      (256u * 1024) /* of a function */
#define FLOW_INSTRUCTIONS_MAX 32768

/* The code of one function, up to the next that is known. */
struct flow_function {
	const uint8_t *code;
	size_t bytes;
	size_t beyond;	  /* bytes behind these that may be the function's as well */
	uint64_t address; /* of the first instruction, as linked */

	/* Reads the file at a linked address, for tables of jumps; returns 0 or a negative errno.
	 */
	int (*read)(void *arg, uint64_t address, void *to, size_t bytes);
	/* Returns whether a call of that address never comes back. NULL: it isn't known. */
	bool (*ends)(void *arg, uint64_t target);
	/* Returns whether there is no time left; asked now and then. NULL: there always is. */
	bool (*is_late)(void *arg);
	/* Gets the functions that are called, some more than once. NULL: nobody asks. */
	void (*calls)(void *arg, uint64_t target);
	void *arg;
};

struct flow_result {
	size_t instructions;	/* that were reached */
	size_t claimed;		/* of these have a row */
	bool returns;		/* there is a way to a return, or out of the function */
	bool leaves;		/* by a jump, to code that isn't the function's or isn't known */
	bool is_longer;		/* a way leads into the bytes beyond */
	bool returns_as_called; /* at a return the stack pointer is where it was at the call */
	bool stops;	  /* there is a way to a trap (hlt, ud2, int3) or to a call that ends */
	bool asks_kernel; /* there is a system call: of a handler's return, perhaps */
	bool breaks;	  /* a way leads to what is no instruction, or behind the bytes */
	bool is_odd;	  /* the stack pointer is elsewhere at a return than at the call: the
			   * function begins elsewhere, or is none */
};

/* Gives the function's rows to `sink`, by address, the first at the function's first instruction.
 * Returns 0; -EFBIG if the function is too large; -ETIMEDOUT; -ENOMEM; or what the sink returned.
 */
int flow_rows(const struct flow_function *function, row_sink sink, void *arg,
	      struct flow_result *result);

#define FLOW_JUMP_BYTES 2 /* jmp reg, without a prefix */

/* Returns whether these bytes end a jump to where a register says. */
bool flow_ends_in_jump(const uint8_t bytes[FLOW_JUMP_BYTES]);
