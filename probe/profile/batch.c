// SPDX-License-Identifier: GPL-2.0-only
#include "profile/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"

#define UNKNOWN	  "[unknown]"
#define SPOTS_MAX (8 * 1024 * 1024) /* as many frames as a window has room for */
#define TEXT_MAX  (64 * 1024 * 1024)

struct batch_stack {
	pid_t pid;
	char comm[COMM_BYTES], thread[COMM_BYTES];
	uint32_t probe;
	uint32_t subscribers;
	uint32_t frames_count; /* leaf first, behind those of the stack before */
	enum truncation truncated;
	struct stack_count count;
};

/* A place in code that frames of the batch have: named once for all of them. */
struct spot {
	struct code code; /* with a reference to its file */
	struct named named;
	size_t name, len; /* in the batch's text */
};

struct spot_key {
	uint64_t file, address, place;
};

struct batch {
	struct batch_stack *stacks;
	size_t count, capacity;
	uint32_t *frames; /* numbers of spots */
	size_t frames_count, frames_capacity;
	struct spot *spots;
	size_t spots_count, spots_capacity;
	struct map *spot_numbers; /* struct spot_key -> uint32_t */
	struct buf text;	  /* names of spots */
	struct sink *sinks;
	size_t sinks_count;
};

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
	      const struct target *target, uint32_t subscribers, const struct stack_count *count,
	      struct symbol_files *files, enum truncation *truncated)
{
	int r = reserve(batch, stack->words_count);

	if (r < 0)
		return r;
	struct batch_stack *to = &batch->stacks[batch->count];
	*to = (struct batch_stack){
		.pid = target->pid,
		.probe = stack->key.probe,
		.subscribers = subscribers,
		.count = *count,
	};
	memcpy(to->comm, target->comm, sizeof(to->comm));
	memcpy(to->thread, stack->comm, sizeof(to->thread));
	r = place(batch, to, stack, words, target, files);
	if (r < 0)
		return r;
	batch->frames_count += to->frames_count;
	batch->count++;
	*truncated = to->truncated;
	return 0;
}

uint64_t batch_weight(const struct batch *batch)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < batch->count; i++)
		sum += batch->stacks[i].count.weight;
	return sum;
}

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

/* root; [pid]comm; thread; [truncated]; frames … */
static int64_t graft(const struct sink *sink, const struct batch *batch,
		     const struct batch_stack *stack, const uint32_t *frames)
{
	struct tree *tree = sink->profile->tree;
	char process[COMM_BYTES + 16];
	int len = snprintf(process, sizeof(process), "[%d]%s", (int)stack->pid, stack->comm);
	int64_t node = below(tree, TREE_ROOT, FRAME_TYPE_PROCESS, process, (size_t)len);

	if (sink->thread_frame)
		node = below(tree, node, FRAME_TYPE_THREAD, stack->thread,
			     strnlen(stack->thread, sizeof(stack->thread)));
	if (stack->truncated != TRUNCATED_NOT)
		node = below_marker(tree, node, FRAME_TRUNCATED);
	if (stack->frames_count == 0 || stack->truncated == TRUNCATED_UNMAPPED)
		node = below_marker(tree, node, UNKNOWN);
	for (size_t i = stack->frames_count; i > 0; i--) {
		const struct spot *spot = &batch->spots[frames[i - 1]];

		node = below(tree, node, spot->named.type, batch->text.data + spot->name,
			     spot->len);
	}
	return node;
}

static void add_to_sinks(struct batch *batch, const struct batch_stack *stack,
			 const uint32_t *frames, struct batch_result *result)
{
	for (size_t s = 0; s < batch->sinks_count; s++) {
		const struct sink *sink = &batch->sinks[s];

		if (!(stack->subscribers & sink->bit) || sink->profile->probe != stack->probe)
			continue;
		int64_t node = buf_error(&batch->text) ? buf_error(&batch->text)
						       : graft(sink, batch, stack, frames);
		if (node >= 0) {
			tree_add(sink->profile->tree, (uint32_t)node, stack->count.weight);
			sink->profile->events += stack->count.weight;
			sink->profile->samples += stack->count.samples;
		} else {
			sink->profile->refused += stack->count.weight;
			result->refused += stack->count.weight;
		}
	}
}

void batch_name(struct batch *batch, struct symbolizer *symbolizer, time_t until,
		struct batch_result *result)
{
	const uint32_t *frames = batch->frames;
	uint64_t unnamed = 0;

	symbolizer_begin(symbolizer);
	name_spots(batch, symbolizer);
	for (size_t i = 0; i < batch->count; i++) {
		struct batch_stack *stack = &batch->stacks[i];
		size_t count = stack->frames_count;

		for (size_t f = 0; f < count; f++)
			unnamed += batch->spots[frames[f]].named.unnamed;
		result->truncated[stack->truncated] += stack->count.weight;
		add_to_sinks(batch, stack, frames, result);
		frames += count;
	}
	symbolizer_count_unnamed(symbolizer, unnamed);
	for (size_t s = 0; s < batch->sinks_count; s++) {
		profile_set_until(batch->sinks[s].profile, until);
		batch->sinks[s].profile->lost += batch->sinks[s].lost;
	}
}
