// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/batch_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocating.h"
#include "kind/kind.h"
#include "loop/beside.h"

#define FEW 1024 /* stacks, for which profiles needn't be made ready, nor a thread begin */

static void grafting_init(struct grafting *grafting, const struct batch *batch, struct tree *tree,
			  const struct stack_detail *detail)
{
	*grafting = (struct grafting){.tree = tree, .detail = *detail, .began = -1};
	if (batch->spots_count)
		grafting->numbers = calloc(batch->spots_count, sizeof(*grafting->numbers));
}

static void grafting_done(struct grafting *grafting)
{
	free(grafting->numbers);
}

/* The batch's stacks on their way into the stack cache. */
struct caching {
	const struct batch *batch;
	const struct batch_entry *order;
	struct stack_cache *stack_cache;
	struct grafting grafting;
};

static void add_weight(struct profile *profile, const struct batch_stack *stack, uint32_t node,
		       const struct frame_bits *libraries, struct batch_result *result)
{
	struct record record = {
		.key = {.node = node, .tid = stack->tid, .cpu = (uint16_t)stack->cpu},
		.weight = stack->count.weight,
		.first_ns = stack->time_ns,
		.who = &stack->who,
		.libraries = {libraries->bits, libraries->bytes},
	};

	if (profile_add(profile, &record, stack->count.events, stack->count.samples) < 0)
		result->unrecorded += stack->count.events;
}

static void add_to_sink(const struct batch *batch, const struct sink *sink,
			struct grafting graftings[2], const struct batch_stack *stack,
			const struct merged *frames, struct batch_result *result)
{
	bool second = stack->part & PART_SECOND;
	struct profile *profile = second ? sink->profile->second : sink->profile;
	struct grafting *grafting = &graftings[second];
	struct grafted grafted = {0};
	int64_t node = buf_error(&batch->text);

	if (!profile)
		return;
	if (node == 0)
		node = profile_thread(profile, &stack->who, sink->detail.thread_frame);
	if (node >= 0)
		node = batch_graft(grafting, node, batch, stack, frames, &grafted);
	if (node >= 0) {
		add_weight(profile, stack, (uint32_t)node, &grafted.in_library, result);
	} else {
		profile->refused += stack->count.events;
		result->refused += stack->count.events;
	}
}

static void add_to_sinks(const struct batch *batch, struct grafting *graftings,
			 const struct batch_stack *stack, const struct merged *frames,
			 struct batch_result *result)
{
	for (size_t s = 0; s < batch->sinks_count; s++) {
		const struct sink *sink = &batch->sinks[s];

		if (stack->subscribers & sink->bit && sink->profile->probe == stack->key.probe)
			add_to_sink(batch, sink, &graftings[2 * s], stack, frames, result);
	}
}

static struct allocating_frame frame_of(const struct batch *batch, struct merged frame)
{
	const struct spot *spot = &batch->spots[frame.frame];
	const struct symbol_file *file = spot->code.file;

	return (struct allocating_frame){.name = batch->text.data + spot->name,
					 .len = spot->named.name_len,
					 .file = file,
					 .module = file ? symbol_file_module(file) : NULL};
}

static bool is_managed(const struct code *code)
{
	return code->place == CODE_PYTHON || code->place == CODE_JAVA;
}

static bool is_mapped(const struct batch_stack *stack)
{
	return stack->part == PART_MAPPED && kind_get(stack->key.probe)->holds;
}

/* Returns whether an allocator or the C library mapped memory for itself. */
static bool is_own_mapping(const struct batch *batch, const struct batch_stack *stack,
			   const struct merged *frames)
{
	if (!is_mapped(stack) || !stack->frames_count)
		return false;
	struct allocating_frame leaf = frame_of(batch, frames[0]);
	for (size_t i = 1; i < stack->frames_count; i++) {
		struct allocating_frame frame = frame_of(batch, frames[i]);

		/* Names of Python and Java code say nothing on that. */
		if (!is_managed(&batch->spots[frames[i].frame].code) &&
		    allocating_above(&leaf, &frame, i, stack->program))
			return true;
	}
	return false;
}

/* Puts the stack into the stack cache: what it holds may be shown in later windows. */
static void cache_stack(struct caching *caching, const struct batch_stack *stack,
			const struct merged *frames)
{
	const struct batch *batch = caching->batch;
	struct grafted grafted = {0};
	int64_t node = buf_error(&batch->text);

	if (!kind_get(stack->key.probe)->holds ||
	    stack_cache_see(caching->stack_cache, &stack->key))
		return;
	if (node == 0)
		node = batch_graft(&caching->grafting, TREE_ROOT, batch, stack, frames, &grafted);
	if (node < 0) {
		stack_cache_refuse(caching->stack_cache);
		return;
	}
	struct cached_stack noted = {
		.node = (uint32_t)node,
		.own = is_own_mapping(batch, stack, frames),
		.partial = stack->truncated == TRUNCATED_UNMAPPED ||
			   stack->truncated == TRUNCATED_ADDRESS,
		.who = stack->who,
		.libraries = {grafted.in_library.bits, grafted.in_library.bytes},
		.native_only = {grafted.native_only.bits, grafted.native_only.bytes},
		.vms_own = stack->is_vms_own,
	};
	/* the stack cache counts what it refuses */
	stack_cache_put(caching->stack_cache, &stack->key, &noted);
}

static void cache_stacks(void *arg)
{
	struct caching *caching = arg;
	const struct batch *batch = caching->batch;

	if (batch->count > FEW)
		stack_cache_reserve(caching->stack_cache, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		cache_stack(caching, &batch->stacks[caching->order[i].stack],
			    batch->frames + caching->order[i].frames);
}

static void put_stack(const struct batch *batch, struct grafting *graftings,
		      const struct batch_stack *stack, const struct merged *frames,
		      struct batch_result *result)
{
	if (stack->subscribers && kind_counts_events(stack->key.probe, stack->part))
		result->truncated[stack->key.probe][stack->truncated] += stack->count.events;
	if (stack->subscribers && stack->inline_unknown)
		result->inline_unknown += stack->count.events;
	if (stack->subscribers && stack->untold)
		result->untold += stack->count.events;
	if (!is_mapped(stack))
		add_to_sinks(batch, graftings, stack, frames, result);
}

static void refuse_all(const struct batch *batch, struct batch_result *result)
{
	for (size_t i = 0; i < batch->count; i++)
		result->refused += batch->stacks[i].count.events;
}

/* Returns whether some stack goes into the stack cache. */
static bool is_cached(const struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (kind_get(batch->stacks[i].key.probe)->holds)
			return true;
	}
	return false;
}

static uint64_t count_unnamed(const struct batch *batch)
{
	uint64_t unnamed = 0;

	for (size_t i = 0; i < batch->frames_count; i++)
		unnamed += batch->spots[batch->frames[i].frame].named.unnamed;
	return unnamed;
}

static void begin_profile(struct grafting *grafting, const struct batch *batch,
			  struct profile *profile, const struct stack_detail *detail)
{
	if (batch->count > FEW)
		(void)profile_reserve(profile, batch->count);
	grafting_init(grafting, batch, profile->tree, detail);
}

/* Puts the stacks into the sinks' profiles. */
static void put_stacks(const struct batch *batch, const struct batch_entry *order,
		       struct batch_result *result)
{
	/* two of each sink: for the first and the second value */
	struct grafting *graftings = calloc(2 * batch->sinks_count + 1, sizeof(*graftings));

	if (!graftings) {
		refuse_all(batch, result);
		return;
	}
	for (size_t s = 0; s < batch->sinks_count; s++) {
		const struct sink *sink = &batch->sinks[s];

		begin_profile(&graftings[2 * s], batch, sink->profile, &sink->detail);
		if (sink->profile->second)
			begin_profile(&graftings[2 * s + 1], batch, sink->profile->second,
				      &sink->detail);
	}
	for (size_t i = 0; i < batch->count; i++)
		put_stack(batch, graftings, &batch->stacks[order[i].stack],
			  batch->frames + order[i].frames, result);
	for (size_t g = 0; g < 2 * batch->sinks_count; g++)
		grafting_done(&graftings[g]);
	free(graftings);
}

/* Puts the stacks into the stack cache and the sinks' profiles; where they are many, by two
 * threads. */
static void name_stacks(struct batch *batch, struct stack_cache *stack_cache,
			struct batch_result *result)
{
	static const struct stack_detail all = {.native_stack = true, .places = true};
	_cleanup_free_ struct batch_entry *order = batch_order(batch);
	struct caching caching = {.batch = batch, .order = order, .stack_cache = stack_cache};
	struct beside beside = {.run = cache_stacks, .arg = &caching};

	if (!order) {
		refuse_all(batch, result);
		return;
	}
	grafting_init(&caching.grafting, batch, stack_cache_tree(stack_cache), &all);
	caching.grafting.whole = true;
	if (is_cached(batch) && batch->count > FEW)
		beside_begin(&beside);
	else if (is_cached(batch))
		cache_stacks(&caching);
	put_stacks(batch, order, result);
	beside_end(&beside);
	grafting_done(&caching.grafting);
}

void batch_name(struct batch *batch, struct symbolizer *symbolizer, struct stack_cache *stack_cache,
		int64_t until, struct batch_result *result)
{
	symbolizer_begin(symbolizer);
	stack_cache_begin(stack_cache);
	batch_name_spots(batch, symbolizer);
	name_stacks(batch, stack_cache, result);
	batch_put_recorded(batch, result);
	symbolizer_count_unnamed(symbolizer, count_unnamed(batch));
	for (size_t s = 0; s < batch->sinks_count; s++) {
		profile_set_until(batch->sinks[s].profile, until);
		profile_add_lost(batch->sinks[s].profile, batch->sinks[s].lost,
				 batch->sinks[s].left_out);
	}
}
