/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A piece of a Java VM's code: a compiled method with what was inlined into it, an interpreted
 * method, or a stub; copied from the process's memory, which is hostile: bounded in bytes and time,
 * checked against the id that the stack has. Immutable once read; references belong to the loop's
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/process_memory.h"
#include "java/vm/jvmlayout.h"

struct jvmcode;

/*
 * The code that a stack's pair of words names (bpf/shared/hotspot_tables.h): `word` and `detail`.
 * *ret has one reference. -ESTALE: something else is there now; -EFAULT …: its memory can't be
 * read; -EBADMSG: what is there makes no sense; -ENOMEM.
 */
int jvmcode_read(struct jvmcode **ret, const struct jvm_layout *layout,
		 const struct process_memory *memory, uint64_t word, uint64_t detail);

/* Whether that code (no interpreted method) is still there, and where: 0, or as jvmcode_read()
 * says. */
int jvmcode_check(const struct jvm_layout *layout, const struct process_memory *memory,
		  uint64_t word, uint64_t detail, uint64_t *from, uint64_t *to);

struct jvmcode *jvmcode_ref(struct jvmcode *code);
void jvmcode_unref(struct jvmcode *code);

/* Whether a pair of words is this code's: the same id, and the address inside. So one piece serves
 * all pcs of its nmethod. */
bool jvmcode_is(const struct jvmcode *code, uint64_t word, uint64_t detail);

enum jvm_frame_kind {
	JVM_COMPILED,
	JVM_INLINED, /* into the next frame towards the root */
	JVM_INTERPRETED,
	JVM_STUB, /* made by the VM; `method` is its name, there is no class */
};

/* Texts are borrowed from the code: UTF-8, valid, no NUL needed. Class names have dots
 * (`java.util.HashMap`); lambda and hidden classes without their addresses and numbers, stable
 * between runs. */
struct jvm_frame {
	enum jvm_frame_kind kind;
	const char *class_name, *method, *signature, *file; /* NULL: it has none */
	size_t class_len, method_len, signature_len, file_len;
	uint32_t line; /* 0: none */
};

#define JVM_FRAMES_MAX 64 /* of one place in the code: inlined calls */

/*
 * The frames at a place, leaf first: at least one. *unsure: which inlined methods are there is not
 * known (the VM has no debug information for this very pc); then it is only the method that is
 * certain, the outermost one, and line 0.
 *
 * Known are: a call's return address; any pc where the compiler kept places for all of the code
 * (DebugNonSafepoints, or a JVMTI agent that asked for CompiledMethodLoad before: there is a place
 * where the VM can't stop); a pc before the frame is made, and any pc of a method that calls
 * nothing, so that nothing can be inlined (with a line where it has only one).
 */
size_t jvmcode_frames(const struct jvmcode *code, uint64_t word, uint64_t detail,
		      struct jvm_frame frames[JVM_FRAMES_MAX], bool *unsure);

/* Bytes of memory that it takes. */
size_t jvmcode_bytes(const struct jvmcode *code);
