// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/java_name.h"

#include "bpf/shared/sample.h"

#define SIGNATURE_MAX 16384 /* bytes; fits into struct frame's numbers */

static const struct jvm_frame *frame_of(struct java_place *place, const struct code *code)
{
	bool unsure;

	if (place->code != code->java || place->pair[0] != code->java_pair[0] ||
	    place->pair[1] != code->java_pair[1]) {
		place->code = code->java;
		place->pair[0] = code->java_pair[0];
		place->pair[1] = code->java_pair[1];
		place->count = jvmcode_frames(code->java, place->pair[0], place->pair[1],
					      place->frames, &unsure);
	}
	return code->java_depth < place->count ? &place->frames[code->java_depth] : NULL;
}

static enum frame_type type_of(enum jvm_frame_kind kind)
{
	switch (kind) {
	case JVM_INLINED:
		return FRAME_TYPE_INLINED;
	case JVM_INTERPRETED:
		return FRAME_TYPE_INTERPRETED;
	default:
		return FRAME_TYPE_JIT;
	}
}

enum frame_type java_unknown_type(const uint64_t pair[2])
{
	return pair[0] >> FRAME_KIND_SHIFT == FRAME_JAVA_METHOD ? FRAME_TYPE_INTERPRETED
								: FRAME_TYPE_JIT;
}

bool java_name(struct java_place *place, const struct code *code, struct named *named,
	       struct buf *name)
{
	const struct jvm_frame *frame = frame_of(place, code);

	named->type = frame ? type_of(frame->kind) : java_unknown_type(code->java_pair);
	if (!frame || !frame->method || !frame->method_len)
		return false;
	if (frame->class_name) {
		buf_add(name, frame->class_name, frame->class_len);
		buf_char(name, '.');
	}
	buf_add(name, frame->method, frame->method_len);
	if (frame->signature && frame->signature_len <= SIGNATURE_MAX) {
		buf_add(name, frame->signature, frame->signature_len);
		named->signature_len = frame->signature_len;
	}
	if (frame->file && frame->file_len) { /* a line without a file says nothing */
		buf_add(name, frame->file, frame->file_len);
		named->file_len = frame->file_len;
		named->line = frame->line;
	}
	return true;
}
