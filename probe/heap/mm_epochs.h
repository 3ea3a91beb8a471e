/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cuts: when a process's memory was last given back as a whole, by an exec or its end. What its pid
 * held before is held no more, though the kernel's entries stay until the daemon removes them.
 * Bounded. On the loop's thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mm_epochs;

/* Of `max` pids. -ENOMEM */
int mm_epochs_new(struct mm_epochs **ret, size_t max);
void mm_epochs_free(struct mm_epochs *epochs);

/* Times are CLOCK_MONOTONIC ns; an earlier one than is known changes nothing. -ENOSPC, -ENOMEM: it
 * was refused, and counted. */
int mm_epochs_note(struct mm_epochs *epochs, uint32_t pid, uint64_t time_ns);

/* 0: there was none. */
uint64_t mm_epochs_get(const struct mm_epochs *epochs, uint32_t pid);

/* Forgets those up to that time: nothing is there any more that they cut off. */
void mm_epochs_forget(struct mm_epochs *epochs, uint64_t until_ns);

/* Since the start. */
uint64_t mm_epochs_refused(const struct mm_epochs *epochs);
