/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interned numbers for the user part and the kernel part of stacks, for DeepFlow's records. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STACK_IDS_MAX  262144u	   /* texts with numbers of their own */
#define STACK_ID_NONE  0u	   /* the empty text */
#define STACK_ID_LOOSE 0x80000000u /* the first number made from a hash */

/*
 * Returns the number of a text, or -ENOMEM. Equal texts get the same number as long as the daemon
 * runs. The first STACK_IDS_MAX texts get the numbers from 1 on; later texts get a number from
 * STACK_ID_LOOSE on, made from their hash: two texts may rarely share one. Bulk worker only.
 */
int64_t stack_id(const char *text, size_t len);
