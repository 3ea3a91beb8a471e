// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts a stack's frames into a tree, as many of them as are wanted there. */
#include "window/batch_state.h"

#include <string.h>

#include "base/cleanup.h"
#include "kind/kind.h"

/* Writes where the frame is in its file. `module` is a buffer that the frame then borrows. */
static void set_place(struct frame *frame, const struct code *code, struct module *module)
{
	if (code->place == CODE_FILE &&
	    symbol_file_locate(code->file, code->address, module, &frame->address))
		frame->module = module;
}

static int64_t below_spot(struct grafting *grafting, int64_t node, const struct batch *batch,
			  uint32_t number)
{
	const struct spot *spot = &batch->spots[number];
	const char *name = batch->text.data + spot->name;
	uint32_t *known = grafting->numbers ? &grafting->numbers[number] : NULL;
	struct module module;
	struct frame frame = {
		.type = spot->named.type,
		.name = name,
		.name_len = spot->named.name_len,
		.signature_len = spot->named.signature_len,
		.source = {name + spot->named.name_len, spot->named.file_len, spot->named.line},
	};

	if (node < 0)
		return node;
	if (known && *known)
		return tree_child_of(grafting->tree, (uint32_t)node, *known - 1);
	if (grafting->detail.places)
		set_place(&frame, &spot->code, &module);
	if (!grafting->whole)
		stack_detail_apply(grafting->detail.frames, &frame);
	int64_t added = tree_frame(grafting->tree, &frame);
	if (added < 0)
		return added;
	if (known)
		*known = (uint32_t)added + 1;
	return tree_child_of(grafting->tree, (uint32_t)node, (uint32_t)added);
}

/*
 * Returns whether the frame runs between the scheduler and the walk of the stack: it is no part of
 * the wait.
 */
static bool is_ours(const struct batch *batch, const struct spot *spot)
{
	static const char *const names[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_",
					    "__traceiter_"};
	const char *name = batch->text.data + spot->name;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);

		if (spot->named.name_len > len && memcmp(name, names[i], len) == 0)
			return spot->code.place == CODE_KERNEL;
	}
	return false;
}

/* Returns the first frame of the stack after those. */
static size_t leaf_of(const struct batch *batch, const struct batch_stack *stack,
		      const struct merged *frames)
{
	size_t leaf = 0;

	while (kind_get(stack->key.probe)->at_tracepoint && leaf < stack->frames_count &&
	       is_ours(batch, &batch->spots[frames[leaf].frame]))
		leaf++;
	return leaf;
}

/* Returns whether its code is of a file other than the program. */
static bool is_in_library(const struct batch_stack *stack, const struct spot *spot)
{
	return stack->program && spot->code.place == CODE_FILE &&
	       spot->code.file != stack->program && spot->named.type != FRAME_TYPE_JIT;
}

static bool is_native_only(const struct spot *spot, struct merged frame)
{
	return frame.shown == SHOWN_NATIVE || (frame.shown == SHOWN_UNLESS_CALL && spot->calls);
}

static void count_frame(struct grafted *grafted, bool in_library, bool native_only)
{
	frame_bits_add(&grafted->in_library, in_library);
	frame_bits_add(&grafted->native_only, native_only);
}

static int64_t graft_marker(struct tree *tree, int64_t node, const char *name,
			    struct grafted *grafted)
{
	count_frame(grafted, false, false);
	return tree_marker(tree, node, name);
}

/* Adds markers at the root for what is missing. */
static int64_t graft_markers(struct tree *tree, int64_t node, const struct batch_stack *stack,
			     struct grafted *grafted)
{
	bool unknown = stack->frames_count == 0 ||
		       (stack->truncated == TRUNCATED_UNMAPPED && !stack->has_names);

	if (stack->truncated != TRUNCATED_NOT)
		node = graft_marker(tree, node, FRAME_TRUNCATED, grafted);
	return unknown ? graft_marker(tree, node, FRAME_UNKNOWN, grafted) : node;
}

/*
 * Returns the node below `node` for the frame that is the step number `at`; *same: all steps before
 * are those of the stack before.
 */
static int64_t step_to(struct grafting *grafting, int64_t node, const struct batch *batch,
		       uint32_t spot, size_t at, bool *same)
{
	*same = *same && at < grafting->steps_count && grafting->steps[at].spot == spot;
	if (*same)
		return grafting->steps[at].node;
	node = below_spot(grafting, node, batch, spot);
	if (at < GRAFT_STEPS_MAX) {
		grafting->steps[at] = (struct graft_step){spot, (uint32_t)node};
		grafting->steps_count = node < 0 ? at : at + 1;
	}
	return node;
}

static int64_t graft_frames(struct grafting *grafting, int64_t node, const struct batch *batch,
			    const struct batch_stack *stack, const struct merged *frames,
			    struct grafted *grafted)
{
	bool same = true;
	size_t steps = 0;

	if (grafting->began != node)
		grafting->steps_count = 0;
	grafting->began = node;
	for (size_t i = stack->frames_count, leaf = leaf_of(batch, stack, frames); i > leaf; i--) {
		struct merged frame = frames[i - 1];
		const struct spot *spot = &batch->spots[frame.frame];
		bool native_only = is_native_only(spot, frame);

		if (native_only && !grafting->detail.native_stack)
			continue;
		if (grafting->detail.without_kernel && spot->code.place == CODE_KERNEL)
			continue;
		node = step_to(grafting, node, batch, frame.frame, steps++, &same);
		count_frame(grafted, is_in_library(stack, spot), native_only);
	}
	return node;
}

/* Adds the leaf frames of the stack's part; NULL: it has none. */
static int64_t graft_part(struct tree *tree, int64_t node, const struct part_row *part)
{
	for (size_t i = 0; part && i < PART_FRAMES && part->frames[i]; i++)
		node = tree_marker(tree, node, part->frames[i]);
	return node;
}

int64_t batch_graft(struct grafting *grafting, int64_t node, const struct batch *batch,
		    const struct batch_stack *stack, const struct merged *frames,
		    struct grafted *grafted)
{
	struct part_named room;

	node = graft_markers(grafting->tree, node, stack, grafted);
	if (stack->is_vms_own && !grafting->detail.native_stack)
		node = graft_marker(grafting->tree, node, FRAME_JVM, grafted);
	else
		node = graft_frames(grafting, node, batch, stack, frames, grafted);
	return graft_part(grafting->tree, node, kind_part(stack->key.probe, stack->part, &room));
}
