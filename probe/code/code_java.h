/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of Java VMs (java/code/jvmcode.h) as a kind of code. A pair is a word of a frame and its
 * detail (bpf/shared/hotspot_tables.h). A compiled method is known by its compile id, which no
 * other one of its process has; an interpreted one by its Method and what that is made of; a stub
 * by its address. Where only the agent tells of a VM's code (code/java_agent_frames.h) the id is
 * the number of what it told.
 */
#pragma once

#include "code/code_kind.h"
#include "target/target_table.h"
#include "java/code/jvmcode.h"
#include "java/files/jvmfile.h"

struct code_cache;

extern const struct code_kind code_kind_java;

/* The piece of code that has that frame; borrowed. NULL: it isn't known. */
struct jvmcode *codes_find_java(const struct target *target, const uint64_t pair[2]);

/* Whether a word of a stack is a Java frame's. */
bool java_is_frame(uint64_t word);

/* Of a pair: code that the VM made for itself, no method; the interpreter, of which not more is
 * told. */
bool java_is_stub(const uint64_t pair[2]);
bool java_is_interpreter(const uint64_t pair[2]);

/* The pair of what an agent told of an address. */
void java_told_pair(uint64_t pair[2], uint64_t address, bool is_return,
		    const struct jvmfile_found *found);

/* Asks for that piece (code_cache_want()). */
void codes_want_java(struct code_cache *codes, struct target *target, const uint64_t pair[2]);
