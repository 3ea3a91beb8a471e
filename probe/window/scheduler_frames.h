/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scheduler's own frames of threads that wait. At a switch a stack has them
 * (`…;hrtimer_nanosleep;do_nanosleep;schedule;__schedule`). A stack that an iterator takes of a
 * thread that waits already lacks them, for the kernel leaves out its scheduler's code there: so
 * one place would be two bars. The frames are completed from a stack that came through the same
 * call: the return address in the last frame that is there says which function of the scheduler was
 * called. If that was seen to go on in different functions, nothing is completed. The kernel leaves
 * out frames of the scheduler that lie deeper, too; these stay missing.
 *
 * Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/sample.h"

struct scheduler_frames;

/* Creates it, without functions; the caller owns *ret. Returns 0 or -ENOMEM. */
int scheduler_frames_new(struct scheduler_frames **ret);
void scheduler_frames_free(struct scheduler_frames *frames);

/* Sets the begins of the scheduler's functions, sorted, and the end of the last one. Without them
 * nothing is completed. Copies them. */
void scheduler_frames_set(struct scheduler_frames *frames, const uint64_t *starts, size_t count,
			  uint64_t end);

/* Learns from a stack's words, which lie leaf first. */
void scheduler_frames_learn(struct scheduler_frames *frames, const struct stack *stack,
			    const uint64_t *words);

/* Completes a stack. Returns false if nothing lacks or nothing is known; else *whole is the stack's
 * head, with *whole_words, valid until the next call. */
bool scheduler_frames_complete(struct scheduler_frames *frames, const struct stack *stack,
			       const uint64_t *words, struct stack *whole,
			       const uint64_t **whole_words);
