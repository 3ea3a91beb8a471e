/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A piece of a Java VM's code with all names and lines: a compiled method with the methods inlined
 * into it, an interpreted method, or a stub. It is copied from the process's memory, which is
 * hostile: reading is bounded in bytes and time, and checked against the id in the stack. A piece
 * is immutable; references are taken and dropped on the loop's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/process_memory.h"
#include "java/vm/jvmlayout.h"

struct jvmcode;

/*
 * Reads the code that a stack's pair of words, `word` and `detail`, names
 * (bpf/shared/hotspot_tables.h); in a job. The caller owns *ret, one reference. Returns 0, or a
 * negative errno: -ESTALE if other code is there now; -EFAULT or another errno if the memory can't
 * be read; -EBADMSG if the data makes no sense or is too much; -ENOMEM.
 */
int jvmcode_read(struct jvmcode **ret, const struct jvm_layout *layout,
		 const struct process_memory *memory, uint64_t word, uint64_t detail);

/* Returns 0 if that code (no interpreted method) is still there, and sets *from and *to to its
 * first and last address; else an error of jvmcode_read(). In a job. */
int jvmcode_check(const struct jvm_layout *layout, const struct process_memory *memory,
		  uint64_t word, uint64_t detail, uint64_t *from, uint64_t *to);

struct jvmcode *jvmcode_ref(struct jvmcode *code);
void jvmcode_unref(struct jvmcode *code);

/* Returns whether a pair of words names this code: the id is the same, the address inside. So one
 * piece serves all pcs of its nmethod. */
bool jvmcode_is(const struct jvmcode *code, uint64_t word, uint64_t detail);

enum jvm_frame_kind {
	JVM_COMPILED,
	JVM_INLINED, /* inlined into the next frame towards the root */
	JVM_INTERPRETED,
	JVM_STUB, /* made by the VM; `method` is the stub's name, there is no class */
};

/* A frame's texts are borrowed from the code; they are valid UTF-8 without a NUL. Class names have
 * dots (`java.util.HashMap`); lambda and hidden classes have no addresses and numbers, so that
 * names are the same in each run. */
struct jvm_frame {
	enum jvm_frame_kind kind;
	const char *class_name, *method, *signature, *file; /* NULL: none */
	size_t class_len, method_len, signature_len, file_len;
	uint32_t line; /* 0: none */
};

#define JVM_FRAMES_MAX 64 /* at one pc, with inlined calls */

/*
 * Fills in the frames at a pc, leaf first, and returns their number, at least one. *unsure: it
 * isn't known which inlined methods are there, as the VM has no debug information for this very pc;
 * then the one frame is the outermost method, with line 0.
 *
 * The frames are certain: at a call's return address; at any pc if the compiler kept debug
 * information for all of the code (DebugNonSafepoints, or a JVMTI agent that asked for
 * CompiledMethodLoad before; told by a PcDesc where the VM can't stop); at a pc before the frame is
 * made; and at any pc of a method that calls nothing, so that nothing can be inlined (with a line
 * if the method has only one).
 */
size_t jvmcode_frames(const struct jvmcode *code, uint64_t word, uint64_t detail,
		      struct jvm_frame frames[JVM_FRAMES_MAX], bool *unsure);

/* Returns the bytes of memory that the code takes. */
size_t jvmcode_bytes(const struct jvmcode *code);
