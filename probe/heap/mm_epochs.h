/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Map from a pid to the time when its address space was last replaced or ended (exec, exit).
 * Allocations older than that are dead, though their entries stay in the kernel's map until the
 * daemon removes them. Bounded. Loop thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mm_epochs;

/* Creates a map for at most `max` pids. Returns 0 or -ENOMEM. */
int mm_epochs_new(struct mm_epochs **ret, size_t max);
void mm_epochs_free(struct mm_epochs *epochs);

/*
 * Notes an end, CLOCK_MONOTONIC ns; a time before the known one changes nothing. Returns 0, or
 * -ENOSPC or -ENOMEM: it was refused and counted.
 */
int mm_epochs_note(struct mm_epochs *epochs, uint32_t pid, uint64_t time_ns);

/* Returns the time of the last end, or 0 if none is known. */
uint64_t mm_epochs_get(const struct mm_epochs *epochs, uint32_t pid);

/* Forgets ends up to that time: no older entry is left in the kernel's map. */
void mm_epochs_forget(struct mm_epochs *epochs, uint64_t until_ns);

/* Returns how many ends were refused since the start. */
uint64_t mm_epochs_refused(const struct mm_epochs *epochs);
