/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of a process's memory, for who reads many small things that lie near each other: a page is
 * read once, as long as its place in the cache isn't needed for another one. So what is read may
 * be out of date, and two reads may be of different times. One thread.
 */
#pragma once

#include "proc/process_memory.h"

struct memory_pages;

/* Makes an empty cache over `behind`, which is borrowed. `bytes_max` limits what is read in all.
 * Returns 0, or -ENOMEM. The caller owns *ret. */
int memory_pages_new(struct memory_pages **ret, const struct process_memory *behind,
		     uint64_t bytes_max);
void memory_pages_free(struct memory_pages *pages);
static inline void memory_pages_freep(struct memory_pages **pages)
{
	memory_pages_free(*pages);
}

/* Reads `bytes` bytes. Returns 0, or a negative errno: -ENOSPC past the limit; that of reading. */
int memory_pages_read(struct memory_pages *pages, uint64_t address, void *to, size_t bytes);

/* Returns how many bytes were read from the process. */
uint64_t memory_pages_bytes(const struct memory_pages *pages);
