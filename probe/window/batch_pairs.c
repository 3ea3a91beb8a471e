// SPDX-License-Identifier: GPL-2.0-or-later
/* Spots of frames that are pairs of words, whose code's names were read from the process. */
#include "window/batch_state.h"

#include "code/code_java.h"
#include "code/code_python.h"
#include "runtime/interpreter.h"

static struct placed_pair *placed_of(const struct placing *placing, const uint64_t pair[2])
{
	uint64_t hash = (pair[0] ^ pair[1]) * UINT64_C(0x9e3779b97f4a7c15);

	return &placing->room->placed[hash >> (64 - PLACED_BITS)];
}

/* Returns the pair's spot, or -1 if it wasn't placed lately. */
static int64_t find_placed(const struct placing *placing, const uint64_t pair[2])
{
	const struct placed_pair *placed = placed_of(placing, pair);

	if (placed->target != placing->target || placed->words[0] != pair[0] ||
	    placed->words[1] != pair[1])
		return -1;
	return placed->spot;
}

static int64_t keep_placed(const struct placing *placing, const uint64_t pair[2], int64_t spot)
{
	if (spot >= 0)
		*placed_of(placing, pair) =
			(struct placed_pair){placing->target, {pair[0], pair[1]}, (uint32_t)spot};
	return spot;
}

/* ---- Python ---- */

static int64_t find_python(const struct placing *placing, const uint64_t pair[2])
{
	const struct target *target = placing->target;
	struct pycode *python =
		codes_find_python(target, pair[0] & FRAME_ADDRESS, (uint32_t)(pair[1] >> 32));
	uint32_t instruction = python ? (uint32_t)pair[1] : 0;
	/*
	 * The interpreter is in the key: processes share code objects, but not the folder that
	 * shortens a file's name.
	 */
	struct spot_key key = {(uint64_t)(uintptr_t)python, instruction,
			       (uint64_t)(uintptr_t)target_interpreter(target)};
	bool is_new;
	int64_t number = batch_spot_of(placing->batch, &key, &is_new);

	if (number < 0 || !is_new)
		return number;
	struct spot *spot = &placing->batch->spots[number];
	spot->python = python ? pycode_ref(python) : NULL;
	spot->interpreter = interpreter_ref(target_interpreter(target));
	spot->code = (struct code){
		.place = CODE_PYTHON,
		.python = python,
		.script = target_interpreter(target) ? &target_interpreter(target)->script : NULL,
		.instruction = instruction,
	};
	return number;
}

int64_t batch_python_spot(const struct placing *placing, const uint64_t pair[2])
{
	int64_t spot = find_placed(placing, pair);

	return spot >= 0 ? spot : keep_placed(placing, pair, find_python(placing, pair));
}

/* ---- Java ---- */

/* Returns the key of frames whose code isn't known, of which only the kind is known. */
static struct spot_key java_key(const struct jvmcode *java, const uint64_t pair[2])
{
	uint64_t kind = pair[0] >> FRAME_KIND_SHIFT;
	uint64_t bci = pair[1] >> 32 & HOTSPOT_BCI_NONE;

	if (!java)
		return (struct spot_key){0, kind == FRAME_JAVA_METHOD, CODE_JAVA};
	return (struct spot_key){(uint64_t)(uintptr_t)java,
				 kind == FRAME_JAVA_METHOD ? bci : pair[0] & FRAME_ADDRESS,
				 CODE_JAVA | kind << 8};
}

static void fill_java(struct spot *spot, struct jvmcode *java, const uint64_t pair[2],
		      uint32_t depth)
{
	*spot = (struct spot){
		.java = java ? jvmcode_ref(java) : NULL,
		.places = 1,
		.code = {.place = CODE_JAVA,
			 .java = java,
			 .java_pair = {pair[0], pair[1]},
			 .java_depth = depth},
	};
}

static int64_t find_java(const struct placing *placing, const uint64_t pair[2])
{
	struct batch *batch = placing->batch;
	struct jvmcode *java = codes_find_java(placing->target, pair);
	struct spot_key key = java_key(java, pair);
	struct jvm_frame frames[JVM_FRAMES_MAX];
	bool is_new = false, unsure = false;
	int64_t number = batch_reserve_spots(batch, JVM_FRAMES_MAX);

	if (number == 0)
		number = batch_spot_of(batch, &key, &is_new);
	if (number < 0 || !is_new)
		return number;
	fill_java(&batch->spots[number], java, pair, 0);
	if (!java)
		return number;
	size_t places = jvmcode_frames(java, pair[0], pair[1], frames, &unsure);
	batch->spots[number].inline_unknown = unsure;
	for (uint32_t depth = 1; depth < places; depth++)
		fill_java(&batch->spots[batch->spots_count++], java, pair, depth);
	batch->spots[number].places = (uint8_t)places;
	return number;
}

int64_t batch_java_spot(const struct placing *placing, const uint64_t pair[2])
{
	int64_t spot = find_placed(placing, pair);

	return spot >= 0 ? spot : keep_placed(placing, pair, find_java(placing, pair));
}
