/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes whose end was missed: the kernel ran no program of ours when it freed them. (It may run
 * none in an interrupt, whatever process that interrupts.) They are told as lost, and what the
 * kernel's side keeps of their threads is forgotten. Any thread, one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/shared/process_cost.h"

#define MISSED_AFTER_S 10 /* much longer than a process is reaped and not freed yet */

/* A process of which a thread has ended, and that a reading didn't see. */
struct unseen_end {
	struct cost_ended_key key;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
};

/* Such processes, sorted. */
struct unseen_ends {
	struct unseen_end *all; /* owned */
	size_t count;
};

/* Reads the keys of the map `cost_ended` (bpf/costs.bpf.c), which are added to *unseen; none of a
 * negative descriptor. Returns 0 or a negative errno. */
int unseen_ends_read(struct unseen_ends *unseen, int fd);
void unseen_ends_done(struct unseen_ends *unseen);

/* Leaves out those that is_seen() knows. */
void unseen_ends_leave_out(struct unseen_ends *unseen, bool (*is_seen)(void *arg, uint64_t tgid),
			   void *arg);

/*
 * Puts those that a reading didn't see in the place of those that the one before didn't see.
 * missed() gets each that was not seen since MISSED_AFTER_S. Returns 0 or -ENOMEM.
 */
int unseen_ends_replace(struct unseen_ends *unseen, const struct unseen_ends *now, uint64_t now_ns,
			void (*missed)(void *arg, const struct cost_ended_key *key), void *arg);
