/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two programs of one shape, as twin.h's are, that are begun and over as fast as a program can be:
 * no C library, whose beginning takes three times as long as all of this. _start -> X_begin ->
 * X_mote, a fifth of a millisecond of CPU time, and the end.
 */
#pragma once

#include "burn.h"

#define ROUNDS 130003 /* of 1.5 ns */

#if defined(__x86_64__)
#define ENTRY(letter)                                                                              \
	__asm__(".globl _start\n"                                                                  \
		".type _start, @function\n"                                                        \
		"_start: .cfi_startproc\n"                                                         \
		".cfi_undefined rip\n"                                                             \
		"xor %ebp, %ebp\n"                                                                 \
		"call " #letter "_begin\n"                                                         \
		"mov $231, %eax\n" /* exit_group(0) */                                             \
		"xor %edi, %edi\n"                                                                 \
		"syscall\n"                                                                        \
		".cfi_endproc\n"                                                                   \
		".size _start, . - _start\n")
#elif defined(__aarch64__)
#define ENTRY(letter)                                                                              \
	__asm__(".globl _start\n"                                                                  \
		".type _start, %function\n"                                                        \
		"_start: .cfi_startproc\n"                                                         \
		".cfi_undefined x30\n"                                                             \
		"mov x29, #0\n"                                                                    \
		"bl " #letter "_begin\n"                                                           \
		"mov x8, #94\n" /* exit_group(0) */                                                \
		"mov x0, #0\n"                                                                     \
		"svc #0\n"                                                                         \
		".cfi_endproc\n"                                                                   \
		".size _start, . - _start\n")
#endif

#define MOTE(letter)                                                                               \
	ENTRY(letter);                                                                             \
	void letter##_begin(void);                                                                 \
	static void letter##_mote(void)                                                            \
	{                                                                                          \
		burn_rounds(1, ROUNDS);                                                            \
	}                                                                                          \
	void letter##_begin(void)                                                                  \
	{                                                                                          \
		letter##_mote();                                                                   \
	}
