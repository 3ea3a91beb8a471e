/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where in a function a uprobe is cheap: on an instruction that the kernel emulates (Linux's
 * arch/x86/kernel/uprobes.c: nop, push, call, jmp and jcc, no others), else it single-steps, which
 * costs ten times as much. It must be one that each call of the function comes to, with all
 * arguments still in their registers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct straight {
	uint32_t offset; /* from the function's start */
	uint32_t pushed; /* bytes that lie on the stack above the return address; with any, a return
			    can't be probed here */
	bool emulated;	 /* false: it has no such instruction, offset is 0 */
};

/* `arguments`: how many registers hold arguments (0 to 6). `code` is the function's start. Bytes
 * that are no instructions end the look, as the end of `code` does. */
void straight_find(const uint8_t *code, size_t bytes, unsigned arguments,
		   struct straight *straight);

/* Where a function goes from its inside. */
struct straight_leap {
	uint64_t address;
	bool by_slot; /* the address of the word that holds where it goes to */
	bool is_call; /* it comes back */
};

/* Calls each for the calls and jumps in `code` that lead to a fixed address, or to one that stands
 * in a fixed word. Bytes that are no instructions end it. */
void straight_leaps(const uint8_t *code, size_t bytes, uint64_t address,
		    void (*each)(void *arg, const struct straight_leap *leap), void *arg);
