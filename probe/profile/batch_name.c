// SPDX-License-Identifier: GPL-2.0-only
#include "profile/batch_state.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/allocating.h"

#define MARKERS 3 /* that a stack may have beside its frames */

/* The leaf frames of parts that have one. */
static const char *const part_frames[PART_COUNT] = {
	[PART_RUNQUEUE] = "[runqueue]", /* woken, but not on a CPU yet */
	[PART_ANON] = "[anon]",		[PART_THP] = "[thp]", [PART_FILE] = "[file]",
	[PART_SHMEM] = "[shmem]",	[PART_COW] = "[cow]",
};

static void name_spots(struct batch *batch, struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < batch->spots_count; i++) {
		struct spot *spot = &batch->spots[i];

		spot->name = batch->text.len;
		spot->named = symbolizer_name(symbolizer, &spot->code, &batch->text);
		spot->len = batch->text.len - spot->name;
	}
}

static int64_t below(struct tree *tree, int64_t parent, enum frame_type type, const char *name,
		     size_t len)
{
	return parent < 0 ? parent : tree_child(tree, (uint32_t)parent, type, name, len);
}

static int64_t below_marker(struct tree *tree, int64_t parent, const char *name)
{
	return below(tree, parent, FRAME_TYPE_MARKER, name, strlen(name));
}

/* What runs between the scheduler and the walk of a stack is no part of the wait. */
static bool is_ours(const struct batch *batch, const struct spot *spot)
{
	static const char *const names[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_",
					    "__traceiter_"};
	const char *name = batch->text.data + spot->name;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);

		if (spot->len > len && memcmp(name, names[i], len) == 0)
			return spot->code.place == CODE_KERNEL;
	}
	return false;
}

/* The first frame of the stack, but for those. */
static size_t leaf_of(const struct batch *batch, const struct batch_stack *stack,
		      const uint32_t *frames)
{
	size_t leaf = 0;

	while (stack->key.probe == PROBE_OFFCPU && leaf < stack->frames_count &&
	       is_ours(batch, &batch->spots[frames[leaf]]))
		leaf++;
	return leaf;
}

/* Its code is of a file that isn't the program's own. */
static bool is_in_library(const struct batch_stack *stack, const struct spot *spot)
{
	return stack->program && spot->code.place == CODE_FILE &&
	       spot->code.file != stack->program && spot->named.type != FRAME_TYPE_JIT;
}

/* struct record_libraries of a stack. */
struct libraries {
	uint8_t bits[(WORDS_MAX + MARKERS + 7) / 8];
	size_t frames, bytes;
};

static void next_frame(struct libraries *libraries, bool in_library)
{
	size_t frame = libraries->frames++;

	if (!in_library)
		return;
	libraries->bits[frame / 8] |= (uint8_t)(1u << frame % 8);
	libraries->bytes = frame / 8 + 1;
}

/* [truncated]; frames … */
static int64_t graft_frames(struct tree *tree, int64_t node, const struct batch *batch,
			    const struct batch_stack *stack, const uint32_t *frames,
			    struct libraries *libraries)
{
	if (stack->truncated != TRUNCATED_NOT) {
		node = below_marker(tree, node, FRAME_TRUNCATED);
		next_frame(libraries, false);
	}
	if (stack->frames_count == 0 || stack->truncated == TRUNCATED_UNMAPPED) {
		node = below_marker(tree, node, FRAME_UNKNOWN);
		next_frame(libraries, false);
	}
	for (size_t i = stack->frames_count, leaf = leaf_of(batch, stack, frames); i > leaf; i--) {
		const struct spot *spot = &batch->spots[frames[i - 1]];

		node = below(tree, node, spot->named.type, batch->text.data + spot->name,
			     spot->len);
		next_frame(libraries, is_in_library(stack, spot));
	}
	if (stack->part < PART_COUNT && part_frames[stack->part])
		node = below_marker(tree, node, part_frames[stack->part]);
	return node;
}

/* root; [pid]comm; thread; [truncated]; frames … */
static int64_t graft(const struct sink *sink, const struct batch *batch,
		     const struct batch_stack *stack, const uint32_t *frames,
		     struct libraries *libraries)
{
	struct tree *tree = sink->profile->tree;
	int64_t node = profile_thread(sink->profile, &stack->who, sink->thread_frame);

	return graft_frames(tree, node, batch, stack, frames, libraries);
}

static void add_weight(struct profile *profile, const struct batch_stack *stack, uint32_t node,
		       const struct libraries *libraries, struct batch_result *result)
{
	struct record record = {
		.key = {.node = node, .tid = stack->tid, .cpu = (uint16_t)stack->cpu},
		.weight = stack->count.weight,
		.first_ns = stack->time_ns,
		.who = &stack->who,
		.libraries = {libraries->bits, libraries->bytes},
	};

	tree_add(profile->tree, node, stack->count.weight);
	tree_add_events(profile->tree, node, stack->count.events);
	profile->weight += stack->count.weight;
	profile->events += stack->count.events;
	profile->samples += stack->count.samples;
	if (records_add(profile->records, &record) < 0)
		result->unrecorded += stack->count.events;
}

static void add_to_sinks(struct batch *batch, const struct batch_stack *stack,
			 const uint32_t *frames, struct batch_result *result)
{
	for (size_t s = 0; s < batch->sinks_count; s++) {
		const struct sink *sink = &batch->sinks[s];

		if (!(stack->subscribers & sink->bit) || sink->profile->probe != stack->key.probe)
			continue;
		struct libraries libraries = {0};
		int64_t node = buf_error(&batch->text)
				       ? buf_error(&batch->text)
				       : graft(sink, batch, stack, frames, &libraries);
		if (node >= 0) {
			add_weight(sink->profile, stack, (uint32_t)node, &libraries, result);
		} else {
			sink->profile->refused += stack->count.events;
			result->refused += stack->count.events;
		}
	}
}

static struct allocating_frame frame_of(const struct batch *batch, uint32_t number)
{
	const struct spot *spot = &batch->spots[number];
	const struct symbol_file *file = spot->code.file;

	return (struct allocating_frame){.name = batch->text.data + spot->name,
					 .len = spot->len,
					 .file = file,
					 .module = file ? symbol_file_module(file) : NULL};
}

/* Whether an allocator, or the C library, mapped it for itself. */
static bool is_own_mapping(const struct batch *batch, const struct batch_stack *stack,
			   const uint32_t *frames)
{
	if (stack->part != PART_MAPPED || !stack->frames_count)
		return false;
	struct allocating_frame leaf = frame_of(batch, frames[0]);
	for (size_t i = 1; i < stack->frames_count; i++) {
		struct allocating_frame frame = frame_of(batch, frames[i]);

		if (allocating_above(&leaf, &frame, i, stack->program))
			return true;
	}
	return false;
}

/* What it holds may be asked for in later windows. */
static void note(const struct batch *batch, const struct batch_stack *stack, const uint32_t *frames,
		 struct ledger *ledger)
{
	struct libraries libraries = {0};
	int64_t node;

	if (stack->key.probe != PROBE_MEM_GLIBC || ledger_see(ledger, &stack->key))
		return;
	node = buf_error(&batch->text) ? buf_error(&batch->text)
				       : graft_frames(ledger_tree(ledger), TREE_ROOT, batch, stack,
						      frames, &libraries);
	if (node < 0) {
		ledger_refuse(ledger);
		return;
	}
	struct ledger_stack noted = {
		.node = (uint32_t)node,
		.own = is_own_mapping(batch, stack, frames),
		.partial = stack->truncated == TRUNCATED_UNMAPPED ||
			   stack->truncated == TRUNCATED_ADDRESS,
		.who = stack->who,
		.libraries = {libraries.bits, libraries.bytes},
	};
	ledger_put(ledger, &stack->key, &noted); /* it counts what it refuses */
}

void batch_name(struct batch *batch, struct symbolizer *symbolizer, struct ledger *ledger,
		time_t until, struct batch_result *result)
{
	const uint32_t *frames = batch->frames;
	uint64_t unnamed = 0;

	symbolizer_begin(symbolizer);
	ledger_begin(ledger);
	name_spots(batch, symbolizer);
	for (size_t i = 0; i < batch->count; i++) {
		struct batch_stack *stack = &batch->stacks[i];
		size_t count = stack->frames_count;

		for (size_t f = 0; f < count; f++)
			unnamed += batch->spots[frames[f]].named.unnamed;
		if (stack->subscribers)
			result->truncated[stack->key.probe][stack->truncated] +=
				stack->count.events;
		note(batch, stack, frames, ledger);
		if (stack->part != PART_MAPPED)
			add_to_sinks(batch, stack, frames, result);
		frames += count;
	}
	symbolizer_count_unnamed(symbolizer, unnamed);
	for (size_t s = 0; s < batch->sinks_count; s++) {
		profile_set_until(batch->sinks[s].profile, until);
		batch->sinks[s].profile->lost += batch->sinks[s].lost;
		batch->sinks[s].profile->left_out += batch->sinks[s].left_out;
	}
}
