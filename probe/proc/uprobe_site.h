/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes x86-64 instructions at a function's start, to find a place where a uprobe is cheap: an
 * instruction that the kernel emulates (Linux's arch/x86/kernel/uprobes.c: nop, push, call, jmp and
 * jcc, no others). Any other instruction is single-stepped, which costs ten times as much. Every
 * call of the function must come to the place, with all arguments still in their registers. On
 * other processors no place is found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uprobe_site {
	uint32_t offset; /* bytes from the function's start */
	uint32_t pushed; /* bytes that the function has put on the stack so far, past the return
			    address; unless 0, the return can't be probed here */
	bool emulated;	 /* false: there is no such instruction, offset is 0 */
};

/* Searches the function that begins at `code`, up to bytes that are no instruction, 64 bytes at
 * most. `arguments` is how many registers hold arguments (0 to 6). */
void uprobe_site_find(const uint8_t *code, size_t bytes, unsigned arguments,
		      struct uprobe_site *site);

/* A call or jump in a function. */
struct uprobe_site_jump {
	uint64_t address; /* the target; with by_slot, of the slot */
	bool by_slot;	  /* the target is read from a slot of memory at `address` */
	bool is_call;	  /* a call, not a jump */
};

/* Calls each() for the calls and jumps in `code` whose target is a fixed address or is read from a
 * slot at a fixed address. `address` is that of `code`. Bytes that are no instruction end the
 * search. */
void uprobe_site_jumps(const uint8_t *code, size_t bytes, uint64_t address,
		       void (*each)(void *arg, const struct uprobe_site_jump *leap), void *arg);
