// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/jvmcode_state.h"

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

void jvmcode_range(const struct jvmcode *code, uint64_t *from, uint64_t *to)
{
	*from = code->from;
	*to = code->to;
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

static size_t outermost(const struct jvmcode *code, uint32_t line, struct jvm_frame *frames)
{
	set_frame(code, 0, JVM_COMPILED, line, &frames[0]);
	return 1;
}

/* 0: more than there is room for. */
static size_t chain(const struct jvmcode *code, uint32_t scope, struct jvm_frame *frames)
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

/* The first place at `pc` or behind it; NULL: none. */
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

/*
 * Where the compiler kept places for all of the code, one tells of what lies before it, from the
 * place before it on. C1's tells of instructions that end there. C2's tells of those that begin
 * there, too, but for a call's: that is where it returns to.
 */
static const struct jvmplace *place_of(const struct jvmcode *code, uint32_t pc, bool is_return)
{
	const struct jvmplace *place = place_from(code, pc);

	if (is_return || !place || place->pc != pc)
		return place;
	if (code->level == JVMCODE_LEVEL_C2 && !place->can_stop)
		return place;
	return place_from(code, pc + 1);
}

static bool is_same(const struct jvmcode *code, uint32_t a, uint32_t b)
{
	while (a && b && a != b) {
		const struct jvmscope *at_a = &code->scopes[a - 1], *at_b = &code->scopes[b - 1];

		if (at_a->method != at_b->method || at_a->line != at_b->line)
			return false;
		a = at_a->caller;
		b = at_b->caller;
	}
	return a == b;
}

/* Where it isn't known which compiler it was, nor where its frame is made: only what is the same
 * either way. */
static const struct jvmplace *place_of_any(const struct jvmcode *code, uint32_t pc, bool is_return)
{
	const struct jvmplace *place = place_from(code, pc), *behind;

	if (is_return || !place)
		return place;
	if (place == code->places && place->scope && code->scopes[place->scope - 1].caller)
		return NULL;
	if (place->pc != pc)
		return place;
	behind = place_from(code, pc + 1);
	return behind && is_same(code, place->scope, behind->scope) ? place : NULL;
}

static size_t compiled_frames(const struct jvmcode *code, uint64_t word, struct jvm_frame *frames,
			      bool *unsure)
{
	uint32_t pc = (uint32_t)((word & FRAME_ADDRESS) - code->from);
	bool is_return = word >> FRAME_KIND_SHIFT == FRAME_JAVA_RETURN;
	const struct jvmplace *place = NULL;
	size_t count = 0;

	if (!code->scopes_count) { /* a native method's, or the agent was told of nothing in it */
		*unsure = code->is_told && !code->calls_nothing && !code->is_known_everywhere;
		return outermost(code, 0, frames);
	}
	if (is_return) {
		place = place_from(code, pc);
		if (place && place->pc != pc)
			place = NULL;
	} else if (pc < code->complete) {
		return outermost(code, 0, frames);
	}
	if (!place && code->is_known_everywhere)
		place = code->is_told ? place_of_any(code, pc, is_return)
				      : place_of(code, pc, is_return);
	if (place)
		count = chain(code, place->scope, frames);
	if (count)
		return count;
	if (code->calls_nothing)
		return outermost(code, code->line, frames);
	*unsure = true;
	return outermost(code, 0, frames);
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
