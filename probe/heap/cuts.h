/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cuts: when a process's memory was last given back as a whole, by an exec or its end. What its pid
 * held before is held no more, though the kernel's entries stay until the daemon removes them.
 * Bounded. On the loop's thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cuts;

/* Of `max` pids. -ENOMEM */
int cuts_new(struct cuts **ret, size_t max);
void cuts_free(struct cuts *cuts);

/* Times are CLOCK_MONOTONIC ns; an earlier one than is known changes nothing. -ENOSPC, -ENOMEM: it
 * was refused, and counted. */
int cuts_note(struct cuts *cuts, uint32_t pid, uint64_t time_ns);

/* 0: there was none. */
uint64_t cuts_get(const struct cuts *cuts, uint32_t pid);

/* Forgets those up to that time: nothing is there any more that they cut off. */
void cuts_forget(struct cuts *cuts, uint64_t until_ns);

/* Since the start. */
uint64_t cuts_refused(const struct cuts *cuts);
