// SPDX-License-Identifier: GPL-2.0-only
#include "profile/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define UNKNOWN	  "[unknown]"
#define NAMES_MAX (1024 * 1024) /* of one stack */

struct batch_stack {
	pid_t pid;
	char comm[COMM_BYTES], thread[COMM_BYTES];
	uint32_t probe;
	uint32_t subscribers;
	uint32_t codes_count; /* leaf first, behind those of the stack before */
	enum truncation truncated;
	struct stack_count count;
};

struct batch {
	struct batch_stack *stacks;
	size_t count, capacity;
	struct code *codes; /* each with a reference to its file */
	size_t codes_count, codes_capacity;
	struct sink *sinks;
	size_t sinks_count;
};

int batch_new(struct batch **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	for (size_t i = 0; i < batch->codes_count; i++)
		symbol_file_unref(batch->codes[i].file);
	for (size_t i = 0; i < batch->sinks_count; i++)
		profile_unref(batch->sinks[i].profile);
	free(batch->stacks);
	free(batch->codes);
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

static int reserve(struct batch *batch, size_t codes)
{
	if (batch->count == batch->capacity) {
		size_t capacity = batch->capacity ? batch->capacity * 2 : 64;
		struct batch_stack *grown = reallocarray(batch->stacks, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		batch->stacks = grown;
		batch->capacity = capacity;
	}
	if (batch->codes_count + codes > batch->codes_capacity) {
		size_t capacity = batch->codes_capacity * 2 + codes;
		struct code *grown = reallocarray(batch->codes, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		batch->codes = grown;
		batch->codes_capacity = capacity;
	}
	return 0;
}

static uint64_t kernel_address(uint64_t word)
{
	return word | ~FRAME_ADDRESS; /* its upper bits are ones (bpf/sample.h) */
}

/*
 * Where the frames lie, until one that lies nowhere: what a frame pointer leads to from there on
 * can't be trusted.
 */
static enum truncation place(struct batch *batch, struct batch_stack *to, const struct stack *stack,
			     const uint64_t *words, const struct space *space)
{
	for (size_t i = 0; i < stack->words_count; i++) {
		enum frame_kind kind = (enum frame_kind)(words[i] >> FRAME_KIND_SHIFT);
		struct code *code = &batch->codes[batch->codes_count];

		*code = (struct code){0};
		if (kind == FRAME_KERNEL || kind == FRAME_KERNEL_RETURN) {
			code->place = CODE_KERNEL;
			code->address = kernel_address(words[i]);
			code->is_return = kind == FRAME_KERNEL_RETURN;
		} else if (space_find(space, words[i] & FRAME_ADDRESS, stack->time_ns, code) == 0) {
			code->is_return = kind == FRAME_NATIVE_RETURN;
		} else {
			return kind == FRAME_NATIVE ? TRUNCATED_UNMAPPED : TRUNCATED_FRAME_POINTER;
		}
		if (code->file)
			symbol_file_ref(code->file);
		batch->codes_count++;
		to->codes_count++;
	}
	return stack->truncated < TRUNCATED_COUNT ? (enum truncation)stack->truncated
						  : TRUNCATED_MEMORY;
}

int batch_add(struct batch *batch, const struct stack *stack, const uint64_t *words,
	      const struct target *target, uint32_t subscribers, const struct stack_count *count,
	      struct symbol_files *files)
{
	size_t first = batch->codes_count;
	int r = reserve(batch, stack->words_count);

	if (r < 0)
		return r;
	struct batch_stack *to = &batch->stacks[batch->count++];
	*to = (struct batch_stack){
		.pid = target->pid,
		.probe = stack->key.probe,
		.subscribers = subscribers,
		.count = *count,
	};
	memcpy(to->comm, target->comm, sizeof(to->comm));
	memcpy(to->thread, stack->comm, sizeof(to->thread));
	to->truncated = place(batch, to, stack, words, target->space);
	for (size_t i = first; i < batch->codes_count; i++) {
		if (batch->codes[i].file)
			symbol_file_load(files, batch->codes[i].file);
	}
	return 0;
}

uint64_t batch_weight(const struct batch *batch)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < batch->count; i++)
		sum += batch->stacks[i].count.weight;
	return sum;
}

/* The names of one stack, leaf first. */
struct names {
	struct buf text;
	struct name {
		size_t offset, len;
		enum frame_type type;
	} each[WORDS_MAX + 1];
	size_t count;
};

static void name_frames(struct names *names, struct symbolizer *symbolizer,
			struct batch_stack *stack, const struct code *codes)
{
	bool entry = false;

	names->text.len = 0;
	names->text.error = 0;
	names->count = 0;
	for (size_t i = 0; i < stack->codes_count; i++) {
		struct name *name = &names->each[names->count++];

		name->offset = names->text.len;
		name->type = symbolizer_name(symbolizer, &codes[i], &names->text, &entry);
		name->len = names->text.len - name->offset;
	}
	/* A C library's start code is where a chain of frame pointers ends. */
	if (stack->truncated == TRUNCATED_FRAME_POINTER && entry)
		stack->truncated = TRUNCATED_NOT;
	if (stack->codes_count == 0 || stack->truncated == TRUNCATED_UNMAPPED) {
		struct name *name = &names->each[names->count++];

		*name = (struct name){names->text.len, strlen(UNKNOWN), FRAME_TYPE_MARKER};
		buf_str(&names->text, UNKNOWN);
	}
}

static int64_t below(struct tree *tree, int64_t parent, enum frame_type type, const char *name,
		     size_t len)
{
	return parent < 0 ? parent : tree_child(tree, (uint32_t)parent, type, name, len);
}

/* root; [pid]comm; thread; [truncated]; frames … */
static int64_t graft(const struct sink *sink, const struct batch_stack *stack,
		     const struct names *names)
{
	struct tree *tree = sink->profile->tree;
	char process[COMM_BYTES + 16];
	int len = snprintf(process, sizeof(process), "[%d]%s", (int)stack->pid, stack->comm);
	int64_t node = below(tree, TREE_ROOT, FRAME_TYPE_PROCESS, process, (size_t)len);

	if (sink->thread_frame)
		node = below(tree, node, FRAME_TYPE_THREAD, stack->thread,
			     strnlen(stack->thread, sizeof(stack->thread)));
	if (stack->truncated != TRUNCATED_NOT)
		node = below(tree, node, FRAME_TYPE_MARKER, FRAME_TRUNCATED,
			     strlen(FRAME_TRUNCATED));
	for (size_t i = names->count; i > 0; i--) {
		const struct name *name = &names->each[i - 1];

		node = below(tree, node, name->type, names->text.data + name->offset, name->len);
	}
	return node;
}

static void names_free(struct names **names)
{
	if (*names)
		buf_done(&(*names)->text);
	free(*names);
}

void batch_name(struct batch *batch, struct symbolizer *symbolizer, time_t until,
		struct batch_result *result)
{
	_cleanup_(names_free) struct names *names = calloc(1, sizeof(*names));
	const struct code *codes = batch->codes;

	symbolizer_begin(symbolizer);
	for (size_t i = 0; i < batch->count; i++) {
		struct batch_stack *stack = &batch->stacks[i];

		if (!names) {
			result->refused += stack->count.weight;
			continue;
		}
		names->text.max = NAMES_MAX;
		name_frames(names, symbolizer, stack, codes);
		codes += stack->codes_count;
		result->truncated[stack->truncated] += stack->count.weight;
		for (size_t s = 0; s < batch->sinks_count; s++) {
			const struct sink *sink = &batch->sinks[s];

			if (!(stack->subscribers & sink->bit) ||
			    sink->profile->probe != stack->probe)
				continue;
			int64_t node = buf_error(&names->text) ? buf_error(&names->text)
							       : graft(sink, stack, names);
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
	for (size_t s = 0; s < batch->sinks_count; s++) {
		profile_set_until(batch->sinks[s].profile, until);
		batch->sinks[s].profile->lost += batch->sinks[s].lost;
	}
}
