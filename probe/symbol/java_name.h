/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names Java frames. One thread: the bulk worker's. */
#pragma once

#include "java/code/jvmcode.h"
#include "symbol/symbol.h"

/* Cache of the frames at the place that was looked up last, as a place's frames are named one after
 * the other. */
struct java_place {
	const struct jvmcode *code; /* NULL: none */
	uint64_t pair[2];
	struct jvm_frame frames[JVM_FRAMES_MAX];
	size_t count;
};

/* Does what symbolizer_name() does for CODE_JAVA; `code->java` is not NULL. Returns false if the
 * frame has no name; then nothing was added to `name`. */
bool java_name(struct java_place *place, const struct code *code, struct named *named,
	       struct buf *name);

/* Returns the type of a frame whose code isn't known. */
enum frame_type java_unknown_type(const uint64_t pair[2]);
