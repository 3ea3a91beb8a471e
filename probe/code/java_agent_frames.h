/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Java VMs whose tables can't be read, but in which there is an agent (java/agents/agents.h). Their
 * stacks are walked as those of any program: Java's code is made code without a file, and its
 * frames are what frame pointers lead to. What such an address was is what the agent told, by the
 * times of it: so it is asked for at the window's end, when all is told of the window.
 *
 * On the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/worker.h"
#include "code/code_cache.h"
#include "bpf/shared/sample.h"

/* Whether a target is such a VM. */
bool agent_frames_is(const struct target *target);

/* Has what its agent wrote be opened, so that it stays readable when the VM ends: a job. */
void agent_frames_open(const struct target *target, struct worker *worker);

/* At a window's end: reads on what agents wrote, a job for each; each has its share of what the
 * loop may look at in that window. False: there is no such VM. */
bool agent_frames_read_on(const struct target_table *table, struct worker *worker);

/* Behind those jobs: asks for the code that a stack of that window has. `until_ns` is its end. */
void agent_frames_want(struct code_cache *codes, const struct target_table *table,
		       const struct stack *stack, const uint64_t *words, uint64_t until_ns);

/* A native word of a stack, in code without a file, as a pair of words of Java's (code_java.h).
 * -ENOENT …: as jvmfile_find() says. */
int agent_frames_pair(const struct target *target, const struct stack *stack, uint64_t word,
		      uint64_t until_ns, uint64_t pair[2]);
