/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For programs built as most are, -O2 without frame pointers, whose stacks are known all the same:
 * a LEVEL is a frame of its own. The compiler neither inlines, clones nor merges it.
 */
#pragma once

#include "../burn.h"

#ifdef __clang__
#define LEVEL __attribute__((noinline))
#else
#define LEVEL __attribute__((noipa))
#endif

/* Takes the frame pointer's register for something else, as code without frame pointers does. */
BURN_INLINE void use_frame_register(void)
{
#if defined(__x86_64__)
	__asm__ volatile("xor $0x5a5a, %%rbp" : : : "rbp");
#elif defined(__aarch64__)
	__asm__ volatile("eor x29, x29, #0xff" : : : "x29");
#elif defined(__i386__)
	__asm__ volatile("xor $0x5a5a, %%ebp" : : : "ebp");
#endif
}

/* A system call made by the calling function itself, not by libc. */
BURN_INLINE long call_kernel(long number, const void *arg)
{
	long r;
#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(number), "D"(arg), "S"(0L)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = (long)arg;
	register long x1 __asm__("x1") = 0;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
	r = x0;
#elif defined(__i386__)
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(number), "b"(arg), "c"(0L) : "memory");
#endif
	return r;
}
