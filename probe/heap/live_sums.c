// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/live_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/grow.h"

struct sum_key {
	struct stack_key stack;
	uint32_t tid, pad;
};

struct live_sum {
	uint64_t bytes, objects;
	uint64_t samples; /* that the sum is made of */
	uint64_t first_ns;
};

struct live_sums {
	struct map *sums; /* struct sum_key -> struct live_sum */
	uint64_t refused; /* objects */
};

int live_sums_new(struct live_sums **ret, size_t max)
{
	struct live_sums *holdings = calloc(1, sizeof(*holdings));

	if (!holdings)
		return -ENOMEM;
	if (map_new(&holdings->sums, sizeof(struct sum_key), sizeof(struct live_sum), max) < 0) {
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
	struct live_sum *sum;
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

const struct live_owner *live_owner_find(const struct live_owner *owners, size_t count,
					 uint32_t pid)
{
	size_t at = PARTITION_POINT(i, count, owners[i].pid < pid);

	return at < count && owners[at].pid == pid ? &owners[at] : NULL;
}

/* Puts the frames that lead to a stack's leaf in the stack cache's tree below `node`. */
static int64_t graft_stack(struct tree *into, int64_t node, const struct tree *from,
			   const struct cached_stack *stack, const struct stack_detail *detail,
			   struct frame_bits *libraries)
{
	uint32_t path[STACK_FRAMES_MAX], leaf = stack->node;
	size_t depth = 0;

	if (stack->vms_own && !detail->native_stack)
		return tree_marker(into, node, FRAME_JVM);
	for (; leaf != TREE_ROOT && depth < STACK_FRAMES_MAX; leaf = tree_parent(from, leaf))
		path[depth++] = leaf;
	for (size_t i = 0; i < depth && node >= 0; i++) {
		struct frame frame = tree_frame_of(from, path[depth - 1 - i]);

		if (!detail->native_stack && record_libraries_have(&stack->native_only, i))
			continue;
		frame_bits_add(libraries, record_libraries_have(&stack->libraries, i));
		stack_detail_apply(detail->frames, &frame);
		node = tree_child_with(into, (uint32_t)node, &frame);
	}
	return node;
}

/* Adds a stack without known names: its process, then `[unknown]`. */
static int64_t graft_unknown(struct profile *profile, const struct record_who *who)
{
	return tree_marker(profile->tree, profile_thread(profile, who, false), FRAME_UNKNOWN);
}

static void add_sum(struct profile *profile, const struct sum_key *key, const struct live_sum *sum,
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
	if (profile_add(profile, &record, sum->objects, sum->samples) < 0)
		result->unrecorded += sum->objects;
}

void live_sums_show(const struct live_sums *holdings, struct stack_cache *stack_cache,
		    const struct live_owner *owners, size_t count,
		    const struct stack_detail *detail, struct profile *profile,
		    struct live_sums_result *result)
{
	const struct sum_key *key;
	const struct live_sum *sum;

	*result = (struct live_sums_result){.refused = holdings->refused};
	map_each (holdings->sums, at, key, sum) {
		const struct live_owner *owner = live_owner_find(owners, count, key->stack.tgid);
		struct cached_stack stack = {0};
		struct frame_bits libraries = {0};
		int64_t node;

		if (!owner)
			continue;
		if (!stack_cache_get(stack_cache, &key->stack, &stack)) {
			stack.who = owner->who;
			node = graft_unknown(profile, &stack.who);
			result->unknown += sum->objects;
		} else if (stack.own) {
			continue;
		} else {
			stack.who.ns_pid = owner->who.ns_pid;
			stack.who.container = owner->who.container;
			node = profile_thread(profile, &stack.who, detail->thread_frame);
			node = graft_stack(profile->tree, node, stack_cache_tree(stack_cache),
					   &stack, detail, &libraries);
			stack.libraries =
				(struct record_libraries){libraries.bits, libraries.bytes};
		}
		add_sum(profile, key, sum, node, &stack, result);
	}
	profile->refused += result->refused;
}
