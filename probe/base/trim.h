/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives memory back to the kernel that the process has but doesn't need. */
#pragma once

/* Gives back the free parts of the heap, and the pages with the program's constants. Among those
 * are the BPF objects, the agents and the scripts, which are used now and then. The kernel reads
 * the pages from the program's file again when they are needed. */
void trim_memory(void);

/* Gives back the pages with code and constants of the program and of all its libraries: for a
 * command that needs hardly any of them once the libraries have initialized themselves. */
void trim_code(void);
