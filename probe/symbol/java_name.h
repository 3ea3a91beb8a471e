/* SPDX-License-Identifier: GPL-2.0-only */
/* The name of a Java frame. */
#pragma once

#include "java/code/jvmcode.h"
#include "symbol/symbol.h"

/* The place in the code whose frames were looked up last: they are named one after the other. */
struct java_place {
	const struct jvmcode *code; /* NULL: none */
	uint64_t pair[2];
	struct jvm_frame frames[JVM_FRAMES_MAX];
	size_t count;
};

/* As symbolizer_name() does it for CODE_JAVA; `code->java` is not NULL. False: nothing was added,
 * for it has no name. */
bool java_name(struct java_place *place, const struct code *code, struct named *named,
	       struct buf *name);

/* What kind of a frame that is whose code isn't known. */
enum frame_type java_unknown_type(const uint64_t pair[2]);
