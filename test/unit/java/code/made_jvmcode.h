/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code of a Java VM that is made up (--wrap, UNITFLAGS): the id tells what it is. */
#pragma once

#include "unit/lib/unit.h"

#include "bpf/shared/sample.h"
#include "java/code/jvmcode.h"

#define LIBJVM	0x10000
#define LIBC	0x20000
#define MADE	0x30000
#define NOWHERE 0x90000

/* A compiled method `run`; pcs from 0x100 on have `get` and `put` inlined, from 0x200 on it isn't
 * known what. */
#define RUN 7
/* Interpreted. */
#define MAIN 8
/* A method without a file, of a class with a long name. */
#define BARE 9
/* It can't be read. */
#define LOST 10

struct jvmcode {
	unsigned refs;
	uint32_t id;
};

int __wrap_jvmcode_read(struct jvmcode **ret, const struct jvm_layout *layout,
			const struct process_memory *memory, uint64_t word, uint64_t detail);
struct jvmcode *__wrap_jvmcode_ref(struct jvmcode *code);
void __wrap_jvmcode_unref(struct jvmcode *code);
bool __wrap_jvmcode_is(const struct jvmcode *code, uint64_t word, uint64_t detail);
size_t __wrap_jvmcode_bytes(const struct jvmcode *code);
size_t __wrap_jvmcode_frames(const struct jvmcode *code, uint64_t word, uint64_t detail,
			     struct jvm_frame frames[JVM_FRAMES_MAX], bool *unsure);

static unsigned live;

int __wrap_jvmcode_read(struct jvmcode **ret, const struct jvm_layout *layout,
			const struct process_memory *memory, uint64_t word, uint64_t detail)
{
	(void)layout;
	(void)memory;
	(void)word;
	if ((uint32_t)detail == LOST)
		return -ESTALE;
	*ret = calloc(1, sizeof(**ret));
	**ret = (struct jvmcode){1, (uint32_t)detail};
	live++;
	return 0;
}

struct jvmcode *__wrap_jvmcode_ref(struct jvmcode *code)
{
	code->refs++;
	return code;
}

void __wrap_jvmcode_unref(struct jvmcode *code)
{
	if (--code->refs)
		return;
	live--;
	free(code);
}

bool __wrap_jvmcode_is(const struct jvmcode *code, uint64_t word, uint64_t detail)
{
	(void)word;
	return code->id == (uint32_t)detail;
}

size_t __wrap_jvmcode_bytes(const struct jvmcode *code)
{
	return sizeof(*code);
}

#define TEXT(field, text) .field = (text), .field##_len = sizeof(text) - 1
#define CLASS(text)	  .class_name = (text), .class_len = sizeof(text) - 1

size_t __wrap_jvmcode_frames(const struct jvmcode *code, uint64_t word, uint64_t detail,
			     struct jvm_frame frames[JVM_FRAMES_MAX], bool *unsure)
{
	static const struct jvm_frame get = {JVM_INLINED,
					     CLASS("a.Map"),
					     TEXT(method, "get"),
					     TEXT(signature, "(java.lang.Object)"),
					     TEXT(file, "Map.java"),
					     .line = 5};
	struct jvm_frame run = {JVM_COMPILED,	       CLASS("a.Work"),		TEXT(method, "run"),
				TEXT(signature, "()"), TEXT(file, "Work.java"), .line = 30};
	uint64_t pc = word & 0xfff;

	*unsure = code->id == RUN && pc >= 0x200;
	switch (code->id) {
	case MAIN:
		frames[0] = (struct jvm_frame){
			JVM_INTERPRETED,	 CLASS("a.Main"),
			TEXT(method, "main"),	 TEXT(signature, "(java.lang.String[])"),
			TEXT(file, "Main.java"), .line = (uint32_t)(detail >> 32 & 0xffffff)};
		return 1;
	case BARE:
		frames[0] = (struct jvm_frame){JVM_COMPILED, CLASS("a.Bare"), TEXT(method, "f"),
					       .line = 3};
		return 1;
	case RUN:
		run.line = *unsure ? 0 : run.line;
		if (pc < 0x100 || *unsure) {
			frames[0] = run;
			return 1;
		}
		frames[0] = get;
		frames[0].method = "put";
		frames[1] = get;
		frames[2] = run;
		return 3;
	default:
		frames[0] = (struct jvm_frame){JVM_STUB, TEXT(method, "call_stub")};
		return 1;
	}
}
