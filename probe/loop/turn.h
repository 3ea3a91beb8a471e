/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How soon the kernel gives a thread a CPU. Of the calling thread only. */
#pragma once

/* Sets the thread's nice value to `nice`; without the privilege to lower it the thread stays as
 * nice as it is. Its time slice is the kernel's own again, whatever the thread that began it had.
 */
void turn_set_nice(int nice);

/* The same for a thread that has little to do at a time and must not be late: it also asks for the
 * shortest time slice, which needs no privilege. From 6.12 on the kernel runs a thread the sooner
 * the shorter its slice is, before others that have as much right to run (kernel/sched/fair.c,
 * EEVDF); a thread gets neither more nor less of the CPUs by that. Older kernels change nothing. */
void turn_be_prompt(int nice);
