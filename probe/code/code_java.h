/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Java VMs' code (java/code/jvmcode.h) as a kind of code. A pair is a word of a frame and its
 * detail (bpf/shared/hotspot_tables.h). The key of a compiled method is its compile id, unique in
 * its process; of an interpreted one its Method and what that is made of; of a stub its address. In
 * VMs whose code only the agent knows (code/java_agent_frames.h) the id is the number of the
 * agent's entry.
 */
#pragma once

#include "code/code_kind.h"
#include "target/target_table.h"
#include "java/code/jvmcode.h"
#include "java/files/jvmfile.h"

struct code_cache;

extern const struct code_kind code_kind_java;

/* Returns the code of that frame, borrowed, or NULL if it isn't known. */
struct jvmcode *codes_find_java(const struct target *target, const uint64_t pair[2]);

/* Returns whether a stack's word is a Java frame. */
bool java_is_frame(uint64_t word);

/*
 * Return whether a pair is code that the VM made for itself, not a method; and whether it is the
 * interpreter, of which the agent tells no more.
 */
bool java_is_stub(const uint64_t pair[2]);
bool java_is_interpreter(const uint64_t pair[2]);

/* Makes the pair for an address that the agent's log names. */
void java_told_pair(uint64_t pair[2], uint64_t address, bool is_return,
		    const struct jvmfile_found *found);

/* Asks for the code of a pair (code_cache_want()). */
void codes_want_java(struct code_cache *codes, struct target *target, const uint64_t pair[2]);
