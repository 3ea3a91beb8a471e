// SPDX-License-Identifier: GPL-2.0-or-later
/* Places a stack's frames: finds where each one's code is, and merges its two chains. */
#include "window/batch_state.h"

#include <errno.h>
#include <stdlib.h>

#include "code/code_java.h"
#include "code/code_python.h"
#include "runtime/interpreter.h"
#include "runtime/jvm.h"
#include "runtime/made_code.h"
#include "runtime/made_dump.h"
#include "code/java_agent_frames.h"
#include "base/grow.h"
#include "base/keys.h"
#include "symbol/perfmap.h"

int batch_reserve_spots(struct batch *batch, size_t more)
{
	if (batch->spots_count + more > SPOTS_MAX)
		return -ENOSPC;
	return array_grow(batch->spots, batch->spots_capacity, batch->spots_count + more, 256);
}

static struct recent_spot *recent_of(struct batch *batch, const struct spot_key *key)
{
	uint64_t hash =
		(key->file ^ key->address ^ key->place << 48) * UINT64_C(0x9e3779b97f4a7c15);

	return &batch->room.recent[hash >> (64 - RECENT_BITS)];
}

int64_t batch_spot_of(struct batch *batch, const struct spot_key *key, bool *is_new)
{
	struct recent_spot *recent = recent_of(batch, key);
	uint32_t *number;

	*is_new = false;
	if (recent->number && keys_equal(&recent->key, key, sizeof(*key)))
		return recent->number - 1;
	int r = batch_reserve_spots(batch, 1);
	if (r < 0)
		return r;
	r = map_put(batch->spot_numbers, key, (void **)&number);
	if (r < 0)
		return r;
	*is_new = r > 0;
	if (*is_new) {
		*number = (uint32_t)batch->spots_count++;
		batch->spots[*number] = (struct spot){.places = 1};
	}
	*recent = (struct recent_spot){*key, *number + 1};
	return *number;
}

/* What a process tells of the code that it makes. */
struct told {
	const char *name; /* borrowed of one of the two; NULL: nothing */
	size_t len;
	struct jit_object *object;
	struct jitdump *dump;
};

/* Returns the latest time at which the stack may have been taken once more: its first time alone is
 * known. */
static uint64_t last_ns(const struct placing *placing)
{
	const struct target *target = placing->target;
	uint64_t ns = placing->batch->until_ns;

	if (!target_is_alive(target) && target->ended_ns < ns)
		ns = target->ended_ns;
	return ns > placing->stack->time_ns ? ns : placing->stack->time_ns;
}

static struct told told_of(const struct placing *placing, uint64_t address)
{
	const struct target *target = placing->target;
	uint64_t ns = placing->stack->time_ns;
	struct told told = {0};

	told.name = made_code_find(target_made_code(target), address, ns, &told.object, &told.len);
	if (told.name)
		return told;
	told.object = NULL;
	told.name =
		made_dump_find(target->dump, address, ns, last_ns(placing), &told.dump, &told.len);
	if (!told.name)
		told.dump = NULL;
	return told;
}

/* Returns what with an address is the key of made code: of a dump, a function at a time. */
static uint64_t key_of_told(const struct told *told, const struct perfmap *map)
{
	if (told->object)
		return (uintptr_t)told->object;
	return told->dump ? (uintptr_t)told->name : (uintptr_t)map;
}

/* Requests what its process tells of that code. */
static int64_t made_spot(const struct placing *placing, const struct code *code, uint64_t address)
{
	struct perfmap_process process = target_perfmap(placing->target);
	const struct told told = told_of(placing, address);
	struct perfmap *map = told.name ? NULL : perfmap_of(placing->files, &process);
	struct spot_key key = {key_of_told(&told, map), address, code->place};
	bool is_new;
	int64_t number = batch_spot_of(placing->batch, &key, &is_new);

	if (number < 0 || !is_new)
		return number;
	struct spot *spot = &placing->batch->spots[number];
	spot->code = *code;
	spot->code.perfmap = map;
	spot->code.made = address;
	spot->code.told = told.name;
	spot->code.told_len = told.len;
	spot->jit = jit_object_ref(told.object);
	spot->dump = jitdump_ref(told.dump);
	if (!told.name)
		perfmap_ask(placing->files, map, address);
	if (code->file)
		symbol_file_ref(code->file);
	return number;
}

/* Returns the spot; requests the function of a new one. */
static int64_t native_spot(const struct placing *placing, const struct code *code)
{
	const struct target *target = placing->target;
	struct spot_key key = {(uint64_t)(uintptr_t)code->file, code->address, code->place};
	struct symbol_place place = {code->mapped_from ? target->pid : 0, code->mapped_from,
				     code->mapped_to};
	bool is_new;
	int64_t number = batch_spot_of(placing->batch, &key, &is_new);

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

static uint64_t kernel_address(uint64_t word)
{
	/* a kernel address: its upper bits are ones (bpf/shared/sample.h) */
	return word | ~FRAME_ADDRESS;
}

/* Finds a native word's place. Returns 0, or -ENOENT or -EAGAIN if there is none. */
static int code_of(const struct address_space *space, uint64_t word, uint64_t time_ns,
		   struct code *code)
{
	enum frame_kind kind = (enum frame_kind)(word >> FRAME_KIND_SHIFT);
	int r = 0;

	*code = (struct code){.place = CODE_KERNEL, .address = kernel_address(word)};
	if (kind == FRAME_NATIVE || kind == FRAME_NATIVE_RETURN)
		r = address_space_find(space, word & FRAME_ADDRESS, time_ns, code);
	if (kind == FRAME_NATIVE_RETURN || kind == FRAME_KERNEL_RETURN)
		code->address--;
	return r;
}

/* Returns whether the word is no native one; native words come first. */
static bool is_behind(uint64_t word)
{
	uint64_t kind = word >> FRAME_KIND_SHIFT;

	return kind == FRAME_PYTHON || kind == FRAME_PYTHON_ENTRY || kind == FRAME_JAVA_DETAIL;
}

/* Returns the frame's flags for merging. */
static uint8_t native_flags(const struct target *target, const struct code *code)
{
	uint8_t flags = interpreter_owns(target_interpreter(target), code) ? NATIVE_OWN : 0;

	if (flags && interpreter_is_loop(target_interpreter(target), code))
		flags |= NATIVE_LOOP;
	if (code_is_made(code))
		flags |= NATIVE_JIT;
	if (code->place == CODE_KERNEL)
		flags |= NATIVE_KERNEL;
	if ((jvm_is_supported(target_jvm(target)) || agent_frames_is(target)) &&
	    jvm_owns(target_jvm(target), code))
		flags |= NATIVE_VM;
	return flags;
}

static bool put_native(struct placing *placing, uint32_t spot, uint8_t flags)
{
	if (placing->natives == NATIVE_PLACES_MAX) {
		placing->truncated = TRUNCATED_DEPTH;
		return false;
	}
	placing->room->spots[placing->natives] = spot;
	placing->room->natives[placing->natives++] = flags;
	return true;
}

static uint8_t java_flags(const uint64_t pair[2])
{
	if (java_is_interpreter(pair))
		return NATIVE_JIT; /* there are methods above it that nobody reports */
	return java_is_stub(pair) ? NATIVE_VM : NATIVE_JAVA;
}

/* Returns a Java frame's flags, with what was inlined into it. */
static int place_java(struct placing *placing, const uint64_t pair[2])
{
	int64_t spot = batch_java_spot(placing, pair);

	if (spot < 0)
		return (int)spot;
	const struct spot *first = &placing->batch->spots[spot];
	placing->inline_unknown |= first->inline_unknown;
	for (unsigned i = 0; i < first->places; i++) {
		if (!put_native(placing, (uint32_t)spot + i, java_flags(pair)))
			return 1;
	}
	return 0;
}

/* Returns whether the agent's log has the code at that address; else the frame stays as it is. */
static bool find_told(struct placing *placing, uint64_t word, const struct code *code,
		      uint64_t pair[2])
{
	const struct target *target = placing->target;

	if (code->place != CODE_JIT || !agent_frames_is(target))
		return false;
	if (agent_frames_pair(target, placing->stack, word, placing->batch->until_ns, pair) == 0 &&
	    codes_find_java(target, pair))
		return true;
	placing->untold = true;
	return false;
}

/* Places a native word. Returns 1 if the stack ends there: it has no place, or there is no room. */
static int place_native(struct placing *placing, uint64_t word)
{
	uint64_t pair[2];
	struct code code;

	if (code_of(placing->target->space, word, placing->stack->time_ns, &code) < 0) {
		placing->truncated = word >> FRAME_KIND_SHIFT == FRAME_NATIVE ? TRUNCATED_UNMAPPED
									      : TRUNCATED_ADDRESS;
		return 1;
	}
	if (find_told(placing, word, &code, pair))
		return place_java(placing, pair);
	bool is_return = word >> FRAME_KIND_SHIFT == FRAME_NATIVE_RETURN;
	int64_t spot = code_is_made(&code)
			       ? made_spot(placing, &code, (word & FRAME_ADDRESS) - is_return)
			       : native_spot(placing, &code);
	if (spot < 0)
		return (int)spot;
	return put_native(placing, (uint32_t)spot, native_flags(placing->target, &code)) ? 0 : 1;
}

/* Places native words, until one has no place. Java's details begin at `details`. */
static int place_natives(struct placing *placing, const uint64_t *words, size_t count,
			 const uint64_t *details, size_t details_count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		uint64_t pair[2] = {words[i], 0};

		if (!java_is_frame(words[i])) {
			r = place_native(placing, words[i]);
			continue;
		}
		if (!details_count--) { /* the kernel's side sends all details */
			placing->truncated = TRUNCATED_JAVA;
			return 0;
		}
		pair[1] = *details++;
		r = place_java(placing, pair);
	}
	return r < 0 ? r : 0;
}

static int place_pythons(struct placing *placing, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i + 1 < count && placing->pythons < PYTHON_FRAMES_MAX; i += 2) {
		bool is_empty = !(words[i] & FRAME_ADDRESS);
		bool is_entry = words[i] >> FRAME_KIND_SHIFT == FRAME_PYTHON_ENTRY;
		int64_t spot = is_empty ? 0 : batch_python_spot(placing, &words[i]);

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

/* Merges both chains, after the frames that the batch has. */
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

	to->is_vms_own = merge_is_vms_own(&merging);
	to->inline_unknown = placing->inline_unknown;
	to->untold = placing->untold;
	to->frames_count = (uint32_t)merge_frames(&merging, frames, &to->truncated);
	for (size_t i = 0; i < to->frames_count; i++) {
		uint32_t spot = placing->room->spots[frames[i].frame];

		to->has_names |= frames[i].frame >= placing->natives ||
				 batch->spots[spot].code.place == CODE_JAVA;
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

	while (natives < stack->words_count && !is_behind(words[natives]))
		natives++;
	const uint64_t *behind = words + natives;
	size_t behind_count = stack->words_count - natives;
	bool is_java = behind_count && behind[0] >> FRAME_KIND_SHIFT == FRAME_JAVA_DETAIL;
	int r = place_natives(&placing, words,
			      natives < NATIVE_WORDS_MAX ? natives : NATIVE_WORDS_MAX, behind,
			      is_java ? behind_count : 0);
	if (r == 0 && !is_java)
		r = place_pythons(&placing, behind, behind_count);
	if (r == 0)
		join_chains(&placing, to);
	return r;
}
