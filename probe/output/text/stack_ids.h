/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers for halves of stacks (the user's, the kernel's) in records. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STACK_IDS_MAX  262144u
#define STACK_ID_NONE  0u
#define STACK_ID_LOOSE 0x80000000u

/*
 * The number of this text, the same one for equal texts while the daemon runs; STACK_ID_NONE: it is
 * empty. The first STACK_IDS_MAX have numbers of their own, from 1; those after them, from
 * STACK_ID_LOOSE on, are of a hash and may rarely be shared. Of one thread: the bulk worker's.
 * -ENOMEM
 */
int64_t stack_id(const char *text, size_t len);
