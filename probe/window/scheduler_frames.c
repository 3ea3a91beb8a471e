// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/scheduler_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define PATH_FRAMES 8	 /* a call goes no deeper into the scheduler */
#define OWN_FRAMES  8	 /* most frames of the tracing at the leaf: those of our program */
#define CALLS_MAX   4096 /* a kernel has a few hundred calls of its scheduler */

/* How the scheduler goes on from a call of it. */
struct path {
	uint64_t words[PATH_FRAMES]; /* leaf first */
	uint32_t count;
	bool ambiguous; /* it was seen to go on in other functions, too */
};

struct scheduler_frames {
	uint64_t *starts; /* of functions, sorted */
	size_t count;
	uint64_t end;
	struct map *paths; /* struct path by the return address of the call */
	uint64_t whole[WORDS_MAX];
};

int scheduler_frames_new(struct scheduler_frames **ret)
{
	struct scheduler_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	int r = map_new(&frames->paths, sizeof(uint64_t), sizeof(struct path), CALLS_MAX);
	if (r < 0)
		free(frames);
	else
		*ret = frames;
	return r;
}

void scheduler_frames_free(struct scheduler_frames *frames)
{
	if (!frames)
		return;
	map_free(frames->paths);
	free(frames->starts);
	free(frames);
}

void scheduler_frames_set(struct scheduler_frames *frames, const uint64_t *starts, size_t count,
			  uint64_t end)
{
	uint64_t *copy = count ? malloc(count * sizeof(*copy)) : NULL;

	if (!copy)
		return;
	memcpy(copy, starts, count * sizeof(*copy));
	free(frames->starts);
	frames->starts = copy;
	frames->count = count;
	frames->end = end;
}

/* Returns the number of the function that has the frame, from 1 on; 0: it isn't the scheduler's. A
 * return address may be the first one behind its function. */
static size_t function_of(const struct scheduler_frames *frames, uint64_t word)
{
	uint64_t kind = word >> FRAME_KIND_SHIFT;
	uint64_t address = word | ~FRAME_ADDRESS;
	size_t from = 0, until = frames->count;

	if (kind == FRAME_KERNEL_RETURN)
		address--;
	else if (kind != FRAME_KERNEL)
		return 0;
	if (!until || address < frames->starts[0] || address >= frames->end)
		return 0;
	while (until - from > 1) {
		size_t middle = from + (until - from) / 2;

		if (frames->starts[middle] <= address)
			from = middle;
		else
			until = middle;
	}
	return from + 1;
}

static bool same_functions(const struct scheduler_frames *frames, const struct path *path,
			   const uint64_t *words, uint32_t count)
{
	if (path->count != count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (function_of(frames, path->words[i]) != function_of(frames, words[i]))
			return false;
	}
	return true;
}

void scheduler_frames_learn(struct scheduler_frames *frames, const struct stack *stack,
			    const uint64_t *words)
{
	uint32_t count = 0, own = 0;
	struct path *path;

	while (own < OWN_FRAMES && own < stack->words_count && !function_of(frames, words[own]))
		own++;
	words += own;
	while (count <= PATH_FRAMES && own + count < stack->words_count &&
	       function_of(frames, words[count]))
		count++;
	if (!count || count > PATH_FRAMES || own + count == stack->words_count ||
	    words[count] >> FRAME_KIND_SHIFT != FRAME_KERNEL_RETURN)
		return;
	uint64_t call = words[count] & FRAME_ADDRESS;
	int r = map_put(frames->paths, &call, (void **)&path);
	if (r < 0)
		return;
	if (r == 0) {
		path->ambiguous |= !same_functions(frames, path, words, count);
		return;
	}
	*path = (struct path){.count = count};
	memcpy(path->words, words, count * sizeof(*words));
}

bool scheduler_frames_complete(struct scheduler_frames *frames, const struct stack *stack,
			       const uint64_t *words, struct stack *whole,
			       const uint64_t **whole_words)
{
	uint64_t call = stack->words_count ? words[0] & FRAME_ADDRESS : 0;

	if (!call || words[0] >> FRAME_KIND_SHIFT != FRAME_KERNEL || function_of(frames, words[0]))
		return false;
	const struct path *path = map_get(frames->paths, &call);
	if (!path || path->ambiguous || stack->words_count + path->count > WORDS_MAX)
		return false;
	*whole = *stack;
	whole->words_count += (uint16_t)path->count;
	memcpy(frames->whole, path->words, path->count * sizeof(*words));
	memcpy(frames->whole + path->count, words, stack->words_count * sizeof(*words));
	frames->whole[path->count] = (uint64_t)FRAME_KERNEL_RETURN << FRAME_KIND_SHIFT | call;
	*whole_words = frames->whole;
	return true;
}
