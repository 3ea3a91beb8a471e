// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/batch_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "container/container.h"
#include "runtime/interpreter.h"
#include "target/who.h"
#include "java/code/jvmcode.h"
#include "jit/jitdump.h"
#include "python/pycode.h"

#include "base/grow.h"
#include "kind/kind.h"

#define TEXT_MAX (64 * 1024 * 1024)

int batch_new(struct batch **ret)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return -ENOMEM;
	batch->text.max = TEXT_MAX;
	int r = map_new(&batch->spot_numbers, sizeof(struct spot_key), sizeof(uint32_t), SPOTS_MAX);
	if (r < 0) {
		batch_free(batch);
		return r;
	}
	*ret = batch;
	return 0;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	for (size_t i = 0; i < batch->spots_count; i++) {
		symbol_file_unref(batch->spots[i].code.file);
		interpreter_unref(batch->spots[i].interpreter);
		if (batch->spots[i].python)
			pycode_unref(batch->spots[i].python);
		if (batch->spots[i].java)
			jvmcode_unref(batch->spots[i].java);
		jit_object_unref(batch->spots[i].jit);
		jitdump_unref(batch->spots[i].dump);
	}
	for (size_t i = 0; i < batch->sinks_count; i++)
		profile_unref(batch->sinks[i].profile);
	for (size_t i = 0; i < batch->count; i++)
		container_unref(batch->stacks[i].who.container);
	batch_free_recorded(batch);
	map_free(batch->spot_numbers);
	buf_done(&batch->text);
	free(batch->stacks);
	free(batch->frames);
	free(batch->spots);
	free(batch->sinks);
	free(batch);
}

void batch_set_end(struct batch *batch, uint64_t until_ns)
{
	batch->until_ns = until_ns;
}

int batch_add_sink(struct batch *batch, const struct sink *sink)
{
	struct sink *sinks = reallocarray(batch->sinks, batch->sinks_count + 1, sizeof(*sinks));

	if (!sinks) {
		profile_unref(sink->profile);
		return -ENOMEM;
	}
	batch->sinks = sinks;
	sinks[batch->sinks_count++] = *sink;
	return 0;
}

static int reserve_stack(struct batch *batch, size_t frames)
{
	if (array_grow(batch->stacks, batch->capacity, batch->count + 1, 64) < 0)
		return -ENOMEM;
	return array_grow(batch->frames, batch->frames_capacity, batch->frames_count + frames, 256);
}

int batch_add(struct batch *batch, const struct stack *stack, const uint64_t *words,
	      const struct target *target, uint32_t subscribers, const struct counted *counted,
	      struct symbol_files *files, struct batch_added *added)
{
	int r = reserve_stack(batch, WORDS_MAX);

	if (r < 0)
		return r;
	struct batch_stack *to = &batch->stacks[batch->count];
	*to = (struct batch_stack){
		.who = who_of_target(target),
		.tid = counted->key.tid,
		.part = counted->key.part,
		.cpu = counted->key.cpu,
		.time_ns = stack->time_ns,
		.program = address_space_program(target->space),
		.key = stack->key,
		.subscribers = subscribers,
		.count = counted->count,
	};
	memcpy(to->who.thread, stack->comm, sizeof(to->who.thread));
	r = batch_place(batch, to, stack, words, target, files);
	if (r < 0)
		return r;
	batch->frames_count += to->frames_count;
	container_ref(to->who.container);
	batch->count++;
	*added = (struct batch_added){to->truncated, to->inline_unknown};
	return 0;
}

void batch_events(const struct batch *batch, uint64_t events[PROBE_COUNT])
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct batch_stack *stack = &batch->stacks[i];

		if (kind_counts_events(stack->key.probe, stack->part))
			events[stack->key.probe] += stack->count.events;
	}
	for (size_t i = 0; i < batch->recorded_count; i++)
		events[batch->recorded[i].probe] += jfrfile_events(batch->recorded[i].file);
}
