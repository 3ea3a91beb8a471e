// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/jfr_stacks.h"
#include "kind/kind.h"

#include <string.h>

#define NS_PER_US 1000

struct jfr_adding {
	struct profile *profile;
	const struct jfrfile *file;
	struct stack_detail detail;
	uint64_t unit; /* weight of the file that is 1 of the profile */
	uint64_t told, given;
};

/* JFR records no files, and a line without its file says nothing. */
static int64_t below_frame(const struct jfr_adding *adding, int64_t node,
			   const struct jfr_frame *from)
{
	const struct jfr_method *method = &adding->file->methods[from->method];
	struct frame frame = {
		.type = from->type,
		.name = adding->file->text + method->name,
		.name_len = method->name_len,
		.signature_len = method->signature_len,
	};

	stack_detail_apply(adding->detail.frames, &frame);
	return tree_child_with(adding->profile->tree, (uint32_t)node, &frame);
}

static int64_t leaf_of(const struct jfr_adding *adding, const struct record_who *who,
		       const struct jfr_stack *stack)
{
	/* Most virtual threads have no name. */
	bool thread_frame = adding->detail.thread_frame && who->thread[0];
	int64_t node = profile_thread(adding->profile, who, thread_frame);

	if (stack->cut)
		node = tree_marker(adding->profile->tree, node, FRAME_TRUNCATED);
	if (!stack->frames_count)
		node = tree_marker(adding->profile->tree, node, FRAME_UNKNOWN);
	for (size_t i = 0; node >= 0 && i < stack->frames_count; i++)
		node = below_frame(adding, node, &adding->file->frames[stack->frames + i]);
	return node;
}

static uint64_t next_weight(struct jfr_adding *adding, const struct jfr_stack *stack)
{
	adding->told += stack->weight;
	uint64_t weight = adding->told / adding->unit - adding->given;
	adding->given += weight;
	return weight;
}

static void add_stack(struct jfr_adding *adding, const struct record_who *process,
		      const struct jfr_stack *stack, struct batch_result *result)
{
	struct profile *profile = adding->profile;
	struct record_who who = *process;
	uint64_t weight = next_weight(adding, stack);
	size_t len = stack->thread_len;

	memset(who.thread, 0, sizeof(who.thread));
	memcpy(who.thread, adding->file->text + stack->thread,
	       len < sizeof(who.thread) ? len : sizeof(who.thread));
	int64_t node = leaf_of(adding, &who, stack);
	if (node < 0) {
		profile->refused += stack->events;
		result->refused += stack->events;
		return;
	}
	struct record record = {.key = {.node = (uint32_t)node}, .weight = weight, .who = &who};
	result->truncated[profile->probe][stack->cut ? TRUNCATED_DEPTH : TRUNCATED_NOT] +=
		stack->events;
	/* We left nothing out, so there are as many samples as events. */
	uint64_t events = kind_get(profile->probe)->by_period ? weight : stack->events;
	if (profile_add(profile, &record, events, events) < 0)
		result->unrecorded += stack->events;
}

static uint64_t unit_of(const struct profile *profile)
{
	const struct kind *kind = kind_get(profile->probe);

	if (kind->by_period)
		return profile->period_ns ? profile->period_ns : 1;
	return kind->unit ? kind->unit : 1;
}

void jfr_stacks_add(struct profile *profile, const struct jfrfile *file,
		    const struct record_who *who, const struct stack_detail *detail,
		    struct batch_result *result)
{
	struct jfr_adding adding = {
		.profile = profile, .file = file, .detail = *detail, .unit = unit_of(profile)};

	for (size_t i = 0; i < file->stacks_count; i++)
		add_stack(&adding, who, &file->stacks[i], result);
	profile_tell_jfr(profile, who->pid);
	profile->lost += file->head.lost_samples;
	profile->refused += file->head.refused;
}
