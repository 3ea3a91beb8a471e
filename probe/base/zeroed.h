/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory for hash tables. */
#pragma once

#include <stddef.h>

/*
 * Returns `count` items of `bytes` each, all zeros, for free(); NULL: no memory. The pages of a
 * large one are there, which those of calloc() aren't: who reads such a page before writing it, as
 * a hash table does, has a second fault, which interrupts each CPU that runs another of our
 * threads.
 */
void *zeroed(size_t count, size_t bytes);
