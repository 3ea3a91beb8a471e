// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/merge.h"

#include <string.h>

struct state {
	const struct merging *in;
	struct merged *out;
	size_t count;
	size_t python;		 /* the next Python frame */
	bool any;		 /* there are Python frames … */
	bool below;		 /* … and one is leafward of the next frame */
	bool java_below;	 /* a Java method is leafward of it */
	size_t loops_without;	 /* loops, from the leaf, without a segment */
	size_t segments_at_loop; /* of the next loop */
};

static size_t count_loops(const struct merging *in)
{
	size_t count = 0;

	for (size_t i = 0; i < in->natives_count; i++)
		count += (in->natives[i] & NATIVE_LOOP) != 0;
	return count;
}

/* Counts segments; the last one may be cut off. */
static size_t count_segments(const struct merging *in)
{
	size_t count = 0;

	for (size_t i = 0; i < in->pythons_count; i++)
		count += in->pythons[i] & PYTHON_ENTRY || i + 1 == in->pythons_count;
	return count;
}

static bool has_frames(const struct merging *in)
{
	for (size_t i = 0; i < in->pythons_count; i++) {
		if (!(in->pythons[i] & PYTHON_EMPTY))
			return true;
	}
	return false;
}

static void put_frame(struct state *state, size_t frame, enum merged_shown shown)
{
	struct merged merged = {(uint32_t)frame & 0xffffff, shown};

	/* as a whole: a store by its parts would first read a page that isn't there yet */
	memcpy(&state->out[state->count++], &merged, sizeof(merged));
}

/* Returns whether the frame is the runtime's, as Python or Java frames leafward of it imply. */
static bool is_runtimes(const struct state *state, uint8_t what)
{
	bool own = what & (NATIVE_LOOP | NATIVE_OWN);

	return (what & NATIVE_VM && state->java_below) ||
	       (state->any && (what & NATIVE_LOOP || (own && state->below)));
}

static void put_native(struct state *state, size_t i)
{
	uint8_t what = state->in->natives[i];
	bool own = what & (NATIVE_LOOP | NATIVE_OWN);
	bool caller = i > 0 && state->in->natives[i - 1] & NATIVE_LOOP;

	state->java_below |= what & NATIVE_JAVA;
	if (state->any && what & NATIVE_JIT && caller)
		return; /* the trampoline of the loop's frame */
	if (is_runtimes(state, what))
		put_frame(state, i, SHOWN_NATIVE);
	else
		put_frame(state, i, state->any && own ? SHOWN_UNLESS_CALL : SHOWN_ALWAYS);
}

static void put_segments(struct state *state, size_t segments)
{
	const struct merging *in = state->in;

	while (segments > 0 && state->python < in->pythons_count) {
		uint8_t what = in->pythons[state->python];

		if (!(what & PYTHON_EMPTY)) {
			put_frame(state, in->natives_count + state->python, SHOWN_ALWAYS);
			state->below = true;
		}
		segments -= what & PYTHON_ENTRY;
		state->python++;
	}
}

/*
 * Calls of a loop that has no frame any more. Until 3.10 each frame has a loop, which checks its
 * result when the frame is gone: _Py_CheckFunctionResult, PyErr_Occurred.
 */
#define CALLS_ON_THE_WAY 2

/*
 * Returns whether the leaf-most loop may be on its way in or out: else its callees would belong to
 * its segment.
 */
static bool is_on_its_way(const struct merging *in, size_t segments)
{
	size_t calls = segments == in->pythons_count ? CALLS_ON_THE_WAY : 0, i = 0;

	while (i < in->natives_count && in->natives[i] & NATIVE_KERNEL)
		i++;
	while (i < in->natives_count && calls > 0 && in->natives[i] == NATIVE_OWN) {
		calls--;
		i++;
	}
	return i < in->natives_count && in->natives[i] & NATIVE_LOOP;
}

/* Sets how many segments the leaf-most loops have; later loops have one each. */
static void lay_side_by_side(struct state *state)
{
	const struct merging *in = state->in;
	size_t loops = count_loops(in), segments = count_segments(in);

	state->segments_at_loop = 1;
	if (in->end != PYTHON_WHOLE)
		return;
	if (loops == segments + 1 && is_on_its_way(in, segments))
		state->loops_without = 1;
	else if (in->truncated == TRUNCATED_NOT && segments > loops)
		state->segments_at_loop += segments - loops;
}

static enum truncation cause_of(const struct merging *in, bool any)
{
	/* Beyond the native depth Python's chain goes on, and may be cut off. */
	if (in->truncated != TRUNCATED_NOT && !(in->truncated == TRUNCATED_DEPTH && any))
		return in->truncated;
	switch (in->end) {
	case PYTHON_DEPTH:
		return TRUNCATED_PYTHON_DEPTH;
	case PYTHON_MEMORY:
	case PYTHON_DAMAGED:
	case PYTHON_SEARCHED:
		return TRUNCATED_PYTHON;
	case PYTHON_PENDING:
		return TRUNCATED_RUNTIME_PENDING;
	case PYTHON_WHOLE:
		return TRUNCATED_NOT;
	default:
		return in->truncated;
	}
}

size_t merge_frames(const struct merging *merging, struct merged *merged,
		    enum truncation *truncated)
{
	struct state state = {.in = merging, .out = merged, .any = has_frames(merging)};

	lay_side_by_side(&state);
	for (size_t i = 0; i < merging->natives_count; i++) {
		if (merging->natives[i] & NATIVE_LOOP && state.loops_without > 0) {
			state.loops_without--;
		} else if (merging->natives[i] & NATIVE_LOOP) {
			put_segments(&state, state.segments_at_loop);
			state.segments_at_loop = 1;
		}
		put_native(&state, i);
	}
	put_segments(&state, SIZE_MAX);
	*truncated = cause_of(merging, state.any);
	return state.count;
}

bool merge_is_vms_own(const struct merging *merging)
{
	uint8_t all = 0;

	for (size_t i = 0; i < merging->natives_count; i++)
		all |= merging->natives[i];
	/* JIT code that the walker didn't take for Java's may be Java's all the same. */
	return merging->truncated == TRUNCATED_NOT && all & NATIVE_VM &&
	       !(all & (NATIVE_JAVA | NATIVE_JIT)) && !has_frames(merging);
}
