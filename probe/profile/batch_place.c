// SPDX-License-Identifier: GPL-2.0-only
/* The frames of a stack: each where its code is, and both of its chains merged. */
#include "profile/batch_state.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/codes.h"
#include "profile/interpreter.h"

struct placing {
	struct batch *batch;
	const struct stack *stack;
	const struct target *target;
	struct symbol_files *files;
	enum truncation truncated;
	struct place_room *room;
	size_t natives, pythons;
};

static int reserve_spot(struct batch *batch)
{
	if (batch->spots_count < batch->spots_capacity)
		return 0;
	size_t capacity = batch->spots_capacity ? batch->spots_capacity * 2 : 256;
	struct spot *grown = reallocarray(batch->spots, capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	batch->spots = grown;
	batch->spots_capacity = capacity;
	return 0;
}

/* The spot of that key. *is_new: it is to be filled. */
static int64_t spot_of(struct batch *batch, const struct spot_key *key, bool *is_new)
{
	uint32_t *number;
	int r = reserve_spot(batch);

	if (r < 0)
		return r;
	r = map_put(batch->spot_numbers, key, (void **)&number);
	if (r < 0)
		return r;
	*is_new = r > 0;
	if (*is_new) {
		*number = (uint32_t)batch->spots_count++;
		batch->spots[*number] = (struct spot){0};
	}
	return *number;
}

/* A new one's function is asked for. */
static int64_t native_spot(const struct placing *placing, const struct code *code)
{
	const struct target *target = placing->target;
	struct spot_key key = {(uint64_t)(uintptr_t)code->file, code->address, code->place};
	struct symbol_place place = {code->mapped_from ? target->pid : 0, code->mapped_from,
				     code->mapped_to};
	bool is_new;
	int64_t number = spot_of(placing->batch, &key, &is_new);

	if (number < 0 || !is_new)
		return number;
	placing->batch->spots[number].code = *code;
	if (code->file) {
		symbol_file_ref(code->file);
		symbol_file_want(placing->files, code->file, code->address, &place);
		spans_used(target->spans, code->file);
	}
	return number;
}

static int64_t find_python_spot(const struct placing *placing, const uint64_t words[2])
{
	const struct target *target = placing->target;
	struct pycode *python =
		codes_find(target, words[0] & FRAME_ADDRESS, (uint32_t)(words[1] >> 32));
	uint32_t instruction = python ? (uint32_t)words[1] : 0;
	/* Processes share code objects, but not the folder that makes a file's name shorter. */
	struct spot_key key = {(uint64_t)(uintptr_t)python, instruction,
			       (uint64_t)(uintptr_t)target->interpreter};
	bool is_new;
	int64_t number = spot_of(placing->batch, &key, &is_new);

	if (number < 0 || !is_new)
		return number;
	struct spot *spot = &placing->batch->spots[number];
	spot->python = python ? pycode_ref(python) : NULL;
	spot->interpreter = interpreter_ref(target->interpreter);
	spot->code = (struct code){
		.place = CODE_PYTHON,
		.python = python,
		.script = target->interpreter ? &target->interpreter->script : NULL,
		.instruction = instruction,
	};
	return number;
}

static int64_t python_spot(const struct placing *placing, const uint64_t words[2])
{
	uint64_t hash = (words[0] ^ words[1]) * UINT64_C(0x9e3779b97f4a7c15);
	struct placed_python *placed = &placing->room->placed[hash >> (64 - PLACED_BITS)];

	if (placed->target == placing->target && placed->words[0] == words[0] &&
	    placed->words[1] == words[1])
		return placed->spot;
	int64_t spot = find_python_spot(placing, words);
	if (spot >= 0)
		*placed = (struct placed_python){
			placing->target, {words[0], words[1]}, (uint32_t)spot};
	return spot;
}

static uint64_t kernel_address(uint64_t word)
{
	return word | ~FRAME_ADDRESS; /* its upper bits are ones (bpf/sample.h) */
}

/* 0, or -ENOENT, -EAGAIN: it lies nowhere. */
static int code_of(const struct space *space, uint64_t word, uint64_t time_ns, struct code *code)
{
	enum frame_kind kind = (enum frame_kind)(word >> FRAME_KIND_SHIFT);
	int r = 0;

	*code = (struct code){.place = CODE_KERNEL, .address = kernel_address(word)};
	if (kind == FRAME_NATIVE || kind == FRAME_NATIVE_RETURN)
		r = space_find(space, word & FRAME_ADDRESS, time_ns, code);
	if (kind == FRAME_NATIVE_RETURN || kind == FRAME_KERNEL_RETURN)
		code->address--;
	return r;
}

static bool is_python(uint64_t word)
{
	uint64_t kind = word >> FRAME_KIND_SHIFT;

	return kind == FRAME_PYTHON || kind == FRAME_PYTHON_ENTRY;
}

/* What merging has to know of it. */
static uint8_t native_flags(const struct interpreter *interpreter, const struct code *code)
{
	uint8_t flags = interpreter_owns(interpreter, code) ? NATIVE_OWN : 0;

	if (flags && interpreter_is_loop(interpreter, code))
		flags |= NATIVE_LOOP;
	if (code->place == CODE_JIT || (code->file && symbol_file_is_jit(code->file)))
		flags |= NATIVE_JIT;
	if (code->place == CODE_KERNEL)
		flags |= NATIVE_KERNEL;
	return flags;
}

/* Until one that lies nowhere. */
static int place_natives(struct placing *placing, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct code code;

		if (code_of(placing->target->space, words[i], placing->stack->time_ns, &code) < 0) {
			placing->truncated = words[i] >> FRAME_KIND_SHIFT == FRAME_NATIVE
						     ? TRUNCATED_UNMAPPED
						     : TRUNCATED_ADDRESS;
			break;
		}
		int64_t spot = native_spot(placing, &code);
		if (spot < 0)
			return (int)spot;
		placing->room->spots[i] = (uint32_t)spot;
		placing->room->natives[i] = native_flags(placing->target->interpreter, &code);
		placing->natives++;
	}
	return 0;
}

static int place_pythons(struct placing *placing, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i + 1 < count && placing->pythons < PYTHON_FRAMES_MAX; i += 2) {
		bool is_empty = !(words[i] & FRAME_ADDRESS);
		bool is_entry = words[i] >> FRAME_KIND_SHIFT == FRAME_PYTHON_ENTRY;
		int64_t spot = is_empty ? 0 : python_spot(placing, &words[i]);

		if (spot < 0)
			return (int)spot;
		const struct pycode *python = is_empty ? NULL : placing->batch->spots[spot].python;
		is_empty |= python && pycode_is_shim(python);
		placing->room->spots[placing->natives + placing->pythons] = (uint32_t)spot;
		placing->room->pythons[placing->pythons++] =
			(is_entry ? PYTHON_ENTRY : 0) | (is_empty ? PYTHON_EMPTY : 0);
	}
	return 0;
}

/* Both chains as one, behind the frames that the batch has. */
static void join_chains(struct placing *placing, struct batch_stack *to)
{
	struct batch *batch = placing->batch;
	struct merged *frames = &batch->frames[batch->frames_count];
	struct merging merging = {
		.natives = placing->room->natives,
		.pythons = placing->room->pythons,
		.natives_count = placing->natives,
		.pythons_count = placing->pythons,
		.truncated = placing->truncated,
		.end = placing->stack->python < PYTHON_END_COUNT
			       ? (enum python_end)placing->stack->python
			       : PYTHON_DAMAGED,
	};

	to->frames_count = (uint32_t)merge_frames(&merging, frames, &to->truncated);
	for (size_t i = 0; i < to->frames_count; i++) {
		uint32_t spot = placing->room->spots[frames[i].frame];

		to->has_python |= frames[i].frame >= placing->natives;
		batch->spots[spot].may_call |= frames[i].shown == SHOWN_UNLESS_CALL;
		frames[i].frame = spot & 0xffffff;
	}
}

int batch_place(struct batch *batch, struct batch_stack *to, const struct stack *stack,
		const uint64_t *words, const struct target *target, struct symbol_files *files)
{
	struct placing placing = {
		.batch = batch,
		.stack = stack,
		.target = target,
		.files = files,
		.truncated = stack->truncated < TRUNCATED_COUNT ? (enum truncation)stack->truncated
								: TRUNCATED_MEMORY,
		.room = &batch->room,
	};
	size_t natives = 0;

	while (natives < stack->words_count && !is_python(words[natives]))
		natives++;
	int r = place_natives(&placing, words,
			      natives < NATIVE_WORDS_MAX ? natives : NATIVE_WORDS_MAX);
	if (r == 0)
		r = place_pythons(&placing, words + natives, stack->words_count - natives);
	if (r == 0)
		join_chains(&placing, to);
	return r;
}
