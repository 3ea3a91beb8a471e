// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/code/jvmcode_struct.h"

#include <stdlib.h>

struct jvmcode *jvmcode_ref(struct jvmcode *code)
{
	code->refs++;
	return code;
}

void jvmcode_unref(struct jvmcode *code)
{
	if (code && --code->refs == 0)
		free(code);
}

bool jvmcode_is(const struct jvmcode *code, uint64_t word, uint64_t detail)
{
	bool interpreted = word >> FRAME_KIND_SHIFT == FRAME_JAVA_METHOD;
	uint64_t address = word & FRAME_ADDRESS;

	return interpreted == (code->kind == JVMCODE_INTERPRETED) && code->id == (uint32_t)detail &&
	       address >= code->from && address < code->to;
}

size_t jvmcode_bytes(const struct jvmcode *code)
{
	return code->bytes;
}

static void set_text(const struct jvmcode *code, struct jvmtext from, const char **text,
		     size_t *len)
{
	*text = from.len ? code->texts + from.at : NULL;
	*len = from.len;
}

static void set_frame(const struct jvmcode *code, uint32_t method, enum jvm_frame_kind kind,
		      uint32_t line, struct jvm_frame *frame)
{
	const struct jvmmethod *names = &code->methods[method];

	frame->kind = kind;
	frame->line = line;
	set_text(code, names->class_name, &frame->class_name, &frame->class_len);
	set_text(code, names->name, &frame->method, &frame->method_len);
	set_text(code, names->signature, &frame->signature, &frame->signature_len);
	set_text(code, names->file, &frame->file, &frame->file_len);
}

static size_t set_outermost(const struct jvmcode *code, uint32_t line, struct jvm_frame *frames)
{
	set_frame(code, 0, JVM_COMPILED, line, &frames[0]);
	return 1;
}

/* Fills in the frames of a scope and its callers; returns 0 if there are more than fit. */
static size_t fill_frames(const struct jvmcode *code, uint32_t scope, struct jvm_frame *frames)
{
	size_t count = 0;

	for (; scope; count++) {
		const struct jvmscope *at = &code->scopes[scope - 1];

		if (count == JVM_FRAMES_MAX)
			return 0;
		set_frame(code, at->method, at->caller ? JVM_INLINED : JVM_COMPILED, at->line,
			  &frames[count]);
		scope = at->caller;
	}
	return count;
}

/* Returns the first place at `pc` or behind it; NULL: none. */
static const struct jvmplace *place_from(const struct jvmcode *code, uint32_t pc)
{
	uint32_t from = 0, to = code->places_count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (code->places[middle].pc < pc)
			from = middle + 1;
		else
			to = middle;
	}
	return from < code->places_count ? &code->places[from] : NULL;
}

/* Returns whether the code's first place is in an inlined method. In told code it isn't known where
 * the frame is made, and inlined code comes only behind that. */
static bool is_inlined_begin(const struct jvmcode *code, const struct jvmplace *place)
{
	return place == code->places && place->scope && code->scopes[place->scope - 1].caller;
}

static size_t compiled_frames(const struct jvmcode *code, uint64_t word, struct jvm_frame *frames,
			      bool *unsure)
{
	uint32_t pc = (uint32_t)((word & FRAME_ADDRESS) - code->from);
	bool is_return = word >> FRAME_KIND_SHIFT == FRAME_JAVA_RETURN;
	const struct jvmplace *place = NULL;
	size_t count = 0;

	if (!code->scopes_count) { /* a native method, or the agent got no debug information */
		*unsure = code->is_told && !code->calls_nothing && !code->is_known_everywhere;
		return set_outermost(code, 0, frames);
	}
	if (!is_return && pc < code->complete)
		return set_outermost(code, 0, frames);
	/* A place is about the instructions that end at its pc, from the place before on. The
	 * instruction at which a frame was interrupted ends behind the frame's pc. */
	place = place_from(code, is_return ? pc : pc + 1);
	if (place && place->pc != pc && !code->is_known_everywhere)
		place = NULL;
	if (place && code->is_told && !is_return && is_inlined_begin(code, place))
		place = NULL;
	if (place)
		count = fill_frames(code, place->scope, frames);
	if (count)
		return count;
	if (code->calls_nothing)
		return set_outermost(code, code->line, frames);
	*unsure = true;
	return set_outermost(code, 0, frames);
}

size_t jvmcode_frames(const struct jvmcode *code, uint64_t word, uint64_t detail,
		      struct jvm_frame frames[JVM_FRAMES_MAX], bool *unsure)
{
	uint32_t bci = detail >> 32 & HOTSPOT_BCI_NONE;

	*unsure = false;
	if (code->kind == JVMCODE_COMPILED)
		return compiled_frames(code, word, frames, unsure);
	if (code->kind == JVMCODE_STUB)
		set_frame(code, 0, JVM_STUB, 0, &frames[0]);
	else
		set_frame(code, 0, JVM_INTERPRETED,
			  bci == HOTSPOT_BCI_NONE
				  ? 0
				  : jvmlines_line(code->lines, code->lines_count, bci),
			  &frames[0]);
	return 1;
}
