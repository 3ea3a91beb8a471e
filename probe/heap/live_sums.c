// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/live_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"

#define PATH_MAX_NODES (WORDS_MAX + 8) /* frames of a stack, with their markers */

struct sum_key {
	struct stack_key stack;
	uint32_t tid, pad;
};

struct sum {
	uint64_t bytes, objects;
	uint64_t samples; /* that the sum is made of */
	uint64_t first_ns;
};

struct live_sums {
	struct map *sums; /* struct sum_key -> struct sum */
	uint64_t refused; /* objects */
};

int live_sums_new(struct live_sums **ret, size_t max)
{
	struct live_sums *holdings = calloc(1, sizeof(*holdings));

	if (!holdings)
		return -ENOMEM;
	if (map_new(&holdings->sums, sizeof(struct sum_key), sizeof(struct sum), max) < 0) {
		free(holdings);
		return -ENOMEM;
	}
	*ret = holdings;
	return 0;
}

void live_sums_free(struct live_sums *holdings)
{
	if (!holdings)
		return;
	map_free(holdings->sums);
	free(holdings);
}

void live_sums_add(struct live_sums *holdings, const struct live_alloc *holding)
{
	struct sum_key key = {.stack = holding->stack, .tid = holding->tid};
	struct sum *sum;
	int r = map_put(holdings->sums, &key, (void **)&sum);

	if (r < 0) {
		holdings->refused += holding->objects;
		return;
	}
	sum->bytes += holding->bytes;
	sum->objects += holding->objects;
	sum->samples += holding->objects > 0;
	if (r > 0 || holding->time_ns < sum->first_ns)
		sum->first_ns = holding->time_ns;
}

const struct live_owner *live_owner_find(const struct live_owner *holders, size_t count,
					 uint32_t pid)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (holders[middle].pid == pid)
			return &holders[middle];
		if (holders[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Bits of the frames that are shown: struct record_libraries without the hidden frames. */
struct shown_bits {
	uint8_t bits[PATH_MAX_NODES / 8 + 1];
	size_t frames, bytes;
};

static bool is_set(const struct record_libraries *bits, size_t frame)
{
	return frame / 8 < bits->bytes && bits->bits[frame / 8] & 1u << frame % 8;
}

static void add_bit(struct shown_bits *bits, bool set)
{
	size_t frame = bits->frames++;

	if (!set)
		return;
	bits->bits[frame / 8] |= (uint8_t)(1u << frame % 8);
	bits->bytes = frame / 8 + 1;
}

static int64_t graft_marker(struct tree *into, int64_t node, const char *name)
{
	return node < 0 ? node
			: tree_child(into, (uint32_t)node, FRAME_TYPE_MARKER, name, strlen(name));
}

/* Puts the frames that lead to a stack's leaf in the stack cache's tree below `node`. */
static int64_t graft(struct tree *into, int64_t node, const struct tree *from,
		     const struct cached_stack *stack, const struct stack_detail *detail,
		     struct shown_bits *libraries)
{
	uint32_t path[PATH_MAX_NODES], leaf = stack->node;
	size_t depth = 0;

	if (stack->vms_own && !detail->native_stack)
		return graft_marker(into, node, FRAME_JVM);
	for (; leaf != TREE_ROOT && depth < PATH_MAX_NODES; leaf = tree_parent(from, leaf))
		path[depth++] = leaf;
	for (size_t i = 0; i < depth && node >= 0; i++) {
		struct frame frame = tree_frame_of(from, path[depth - 1 - i]);

		if (!detail->native_stack && is_set(&stack->native_only, i))
			continue;
		add_bit(libraries, is_set(&stack->libraries, i));
		stack_detail_apply(detail->frames, &frame);
		node = tree_child_with(into, (uint32_t)node, &frame);
	}
	return node;
}

/* Adds a stack without known names: its process, then `[unknown]`. */
static int64_t graft_unknown(struct profile *profile, const struct record_who *who)
{
	return graft_marker(profile->tree, profile_thread(profile, who, false), FRAME_UNKNOWN);
}

static void add_sum(struct profile *profile, const struct sum_key *key, const struct sum *sum,
		    int64_t node, const struct cached_stack *stack, struct live_sums_result *result)
{
	if (node < 0) {
		result->refused += sum->objects;
		return;
	}
	struct record record = {
		.key = {.node = (uint32_t)node, .tid = key->tid, .cpu = CPU_ANY},
		.weight = sum->bytes,
		.first_ns = sum->first_ns,
		.who = &stack->who,
		.libraries = stack->libraries,
	};
	tree_add(profile->tree, record.key.node, sum->bytes);
	tree_add_events(profile->tree, record.key.node, sum->objects);
	profile->weight += sum->bytes;
	profile->events += sum->objects;
	profile->samples += sum->samples;
	if (records_add(profile->records, &record) < 0)
		result->unrecorded += sum->objects;
}

void live_sums_show(const struct live_sums *holdings, struct stack_cache *stack_cache,
		    const struct live_owner *holders, size_t count,
		    const struct stack_detail *detail, struct profile *profile,
		    struct live_sums_result *result)
{
	const struct sum_key *key;
	const struct sum *sum;

	*result = (struct live_sums_result){.refused = holdings->refused};
	map_each (holdings->sums, at, key, sum) {
		const struct live_owner *holder = live_owner_find(holders, count, key->stack.tgid);
		struct cached_stack stack = {0};
		struct shown_bits libraries = {0};
		int64_t node;

		if (!holder)
			continue;
		if (!stack_cache_get(stack_cache, &key->stack, &stack)) {
			stack.who = holder->who;
			node = graft_unknown(profile, &stack.who);
			result->unknown += sum->objects;
		} else if (stack.own) {
			continue;
		} else {
			stack.who.ns_pid = holder->who.ns_pid;
			stack.who.container = holder->who.container;
			node = profile_thread(profile, &stack.who, detail->thread_frame);
			node = graft(profile->tree, node, stack_cache_tree(stack_cache), &stack,
				     detail, &libraries);
			stack.libraries =
				(struct record_libraries){libraries.bits, libraries.bytes};
		}
		add_sum(profile, key, sum, node, &stack, result);
	}
	profile->refused += result->refused;
}
