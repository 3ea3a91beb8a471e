// SPDX-License-Identifier: GPL-2.0-only
#include "profile/batch_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPOTS_MAX (8 * 1024 * 1024) /* as many frames as a window has room for */
#define TEXT_MAX  (64 * 1024 * 1024)

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
	for (size_t i = 0; i < batch->spots_count; i++)
		symbol_file_unref(batch->spots[i].code.file);
	for (size_t i = 0; i < batch->sinks_count; i++)
		profile_unref(batch->sinks[i].profile);
	map_free(batch->spot_numbers);
	buf_done(&batch->text);
	free(batch->stacks);
	free(batch->frames);
	free(batch->spots);
	free(batch->sinks);
	free(batch);
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

static int reserve(struct batch *batch, size_t frames)
{
	if (batch->count == batch->capacity) {
		size_t capacity = batch->capacity ? batch->capacity * 2 : 64;
		struct batch_stack *grown = reallocarray(batch->stacks, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		batch->stacks = grown;
		batch->capacity = capacity;
	}
	if (batch->frames_count + frames > batch->frames_capacity) {
		size_t capacity = batch->frames_capacity * 2 + frames;
		uint32_t *grown = reallocarray(batch->frames, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		batch->frames = grown;
		batch->frames_capacity = capacity;
	}
	return 0;
}

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

/* The number of the spot; a new one's function is asked for. */
static int64_t spot_of(struct batch *batch, const struct code *code, const struct target *target,
		       struct symbol_files *files)
{
	struct spot_key key = {(uint64_t)(uintptr_t)code->file, code->address, code->place};
	struct symbol_place place = {code->mapped_from ? target->pid : 0, code->mapped_from,
				     code->mapped_to};
	uint32_t *number;
	int r = reserve_spot(batch);

	if (r == 0)
		r = map_put(batch->spot_numbers, &key, (void **)&number);
	if (r < 0)
		return r;
	if (r == 0)
		return *number;
	*number = (uint32_t)batch->spots_count++;
	batch->spots[*number] = (struct spot){.code = *code};
	if (code->file) {
		symbol_file_ref(code->file);
		symbol_file_want(files, code->file, code->address, &place);
		spans_used(target->spans, code->file);
	}
	return *number;
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

/* Where the frames lie, until one that lies nowhere. */
static int place(struct batch *batch, struct batch_stack *to, const struct stack *stack,
		 const uint64_t *words, const struct target *target, struct symbol_files *files)
{
	to->truncated = stack->truncated < TRUNCATED_COUNT ? (enum truncation)stack->truncated
							   : TRUNCATED_MEMORY;
	for (size_t i = 0; i < stack->words_count; i++) {
		bool leaf = words[i] >> FRAME_KIND_SHIFT == FRAME_NATIVE;
		struct code code;

		if (code_of(target->space, words[i], stack->time_ns, &code) < 0) {
			to->truncated = leaf ? TRUNCATED_UNMAPPED : TRUNCATED_ADDRESS;
			return 0;
		}
		int64_t spot = spot_of(batch, &code, target, files);
		if (spot < 0)
			return (int)spot;
		batch->frames[batch->frames_count + to->frames_count++] = (uint32_t)spot;
	}
	return 0;
}

int batch_add(struct batch *batch, const struct stack *stack, const uint64_t *words,
	      const struct target *target, uint32_t subscribers, const struct counted *counted,
	      struct symbol_files *files, enum truncation *truncated)
{
	int r = reserve(batch, stack->words_count);

	if (r < 0)
		return r;
	struct batch_stack *to = &batch->stacks[batch->count];
	*to = (struct batch_stack){
		.who = {target->pid, target->start_ticks, target->netns_id},
		.tid = counted->key.tid,
		.part = counted->key.part,
		.cpu = counted->key.cpu,
		.time_ns = stack->time_ns,
		.program = space_program(target->space),
		.key = stack->key,
		.subscribers = subscribers,
		.count = counted->count,
	};
	memcpy(to->who.process, target->comm, sizeof(to->who.process));
	memcpy(to->who.thread, stack->comm, sizeof(to->who.thread));
	r = place(batch, to, stack, words, target, files);
	if (r < 0)
		return r;
	batch->frames_count += to->frames_count;
	batch->count++;
	*truncated = to->truncated;
	return 0;
}

void batch_events(const struct batch *batch, uint64_t events[PROBE_COUNT])
{
	for (size_t i = 0; i < batch->count; i++)
		events[batch->stacks[i].key.probe] += batch->stacks[i].count.events;
}
