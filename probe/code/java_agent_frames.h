/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Java VMs whose tables can't be read but that have an agent (java/agents/agents.h).
 * Their stacks are walked like those of any program: Java code is code without a file, found by
 * frame pointers. Its addresses are resolved from the agent's time-stamped log, which is complete
 * only when the window has ended; so resolution happens then.
 *
 * Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/worker.h"
#include "code/code_cache.h"
#include "bpf/shared/sample.h"

/* Returns whether a target is such a VM. */
bool agent_frames_is(const struct target *target);

/* Submits a job that opens the agent's file, so that it stays readable when the VM ends. */
void agent_frames_open(const struct target *target, struct worker *worker);

/*
 * Submits jobs that read on the agents' files, one for each VM, at a window's end. Each VM has its
 * share of what the loop may search in that window. Returns false if there is no such VM.
 */
bool agent_frames_read_on(const struct target_table *table, struct worker *worker);

/* Asks for the code of a stack's frames, after those jobs. `until_ns`: the window's end. */
void agent_frames_want(struct code_cache *codes, const struct target_table *table,
		       const struct stack *stack, const uint64_t *words, uint64_t until_ns);

/*
 * Translates a native word of a stack, in code without a file, to a Java pair (code_java.h).
 * Returns 0 or an error of jvmfile_find(), such as -ENOENT.
 */
int agent_frames_pair(const struct target *target, const struct stack *stack, uint64_t word,
		      uint64_t until_ns, uint64_t pair[2]);
