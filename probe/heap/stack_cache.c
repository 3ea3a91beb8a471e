// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/stack_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/map.h"

#define REBUILD_MIN 1024 /* nodes or names; a rebuild isn't worth it for fewer */

struct stack_entry {
	uint32_t node;
	uint32_t who, libraries, native_only; /* numbers in `who` and `bits` of the contents */
	uint32_t window;		      /* the last one in which the stack occurred */
	bool own, vms_own, partial, holds;
};

/* The tree and names; made anew when most of them are dead. */
struct contents {
	struct tree *tree;
	struct intern *who;  /* struct record_who, as bytes */
	struct intern *bits; /* of struct record_libraries */
	size_t names;	     /* number of names in the larger of `who` and `bits` */
};

struct stack_cache {
	struct stack_cache_limits limits;
	struct contents contents;
	struct map *entries; /* struct stack_key -> struct stack_entry */
	uint32_t window;
	struct stack_cache_stats stats;
};

static void contents_done(struct contents *contents)
{
	tree_free(contents->tree);
	intern_free(contents->who);
	intern_free(contents->bits);
}

static int contents_init(struct contents *contents, const struct stack_cache_limits *limits)
{
	struct contents made = {0};
	int r = tree_new(&made.tree, limits->nodes, limits->name_bytes);

	if (r == 0)
		r = intern_new(&made.who, limits->name_bytes);
	if (r == 0)
		r = intern_new(&made.bits, limits->name_bytes);
	if (r < 0)
		contents_done(&made);
	else
		*contents = made;
	return r;
}

static void set_stat(uint64_t *stat, uint64_t value)
{
	__atomic_store_n(stat, value, __ATOMIC_RELAXED);
}

static void set_sizes(struct stack_cache *stack_cache)
{
	set_stat(&stack_cache->stats.stacks, map_count(stack_cache->entries));
	set_stat(&stack_cache->stats.nodes, tree_count(stack_cache->contents.tree) - 1);
}

int stack_cache_new(struct stack_cache **ret, const struct stack_cache_limits *limits)
{
	struct stack_cache *stack_cache = calloc(1, sizeof(*stack_cache));

	if (!stack_cache)
		return -ENOMEM;
	stack_cache->limits = *limits;
	int r = contents_init(&stack_cache->contents, limits);
	if (r == 0)
		r = map_new(&stack_cache->entries, sizeof(struct stack_key),
			    sizeof(struct stack_entry), limits->stacks);
	if (r < 0) {
		stack_cache_free(stack_cache);
		return r;
	}
	*ret = stack_cache;
	return 0;
}

void stack_cache_free(struct stack_cache *stack_cache)
{
	if (!stack_cache)
		return;
	contents_done(&stack_cache->contents);
	map_free(stack_cache->entries);
	free(stack_cache);
}

void stack_cache_begin(struct stack_cache *stack_cache)
{
	stack_cache->window++;
}

void stack_cache_reserve(struct stack_cache *stack_cache, size_t stacks)
{
	size_t known = map_count(stack_cache->entries);

	if (stacks <= known) /* most of them are known, probably */
		return;
	(void)map_reserve(stack_cache->entries, stacks - known);
	(void)tree_reserve(stack_cache->contents.tree, stacks - known);
}

bool stack_cache_see(struct stack_cache *stack_cache, const struct stack_key *key)
{
	struct stack_entry *entry = map_get(stack_cache->entries, key);

	if (!entry)
		return false;
	entry->window = stack_cache->window;
	return !entry->partial;
}

struct tree *stack_cache_tree(struct stack_cache *stack_cache)
{
	return stack_cache->contents.tree;
}

void stack_cache_refuse(struct stack_cache *stack_cache)
{
	set_stat(&stack_cache->stats.refused, stack_cache->stats.refused + 1);
}

/* Returns the number of these bytes, added if need be. Numbers start at 0. */
static int64_t intern_bytes(struct contents *contents, struct intern *names, const char *bytes,
			    size_t len)
{
	int64_t number = intern_add(names, bytes, len);

	if (number >= (int64_t)contents->names)
		contents->names = (size_t)number + 1;
	return number;
}

/* Returns the number of *who; equal ones get equal bytes, and so one number. */
static int64_t intern_who(struct contents *contents, const struct record_who *who)
{
	struct record_who bytes;

	memset(&bytes, 0, sizeof(bytes));
	bytes.pid = who->pid;
	bytes.start_ticks = who->start_ticks;
	bytes.netns_id = who->netns_id;
	memcpy(bytes.process, who->process, strnlen(who->process, sizeof(bytes.process)));
	memcpy(bytes.thread, who->thread, strnlen(who->thread, sizeof(bytes.thread)));
	return intern_bytes(contents, contents->who, (const char *)&bytes, sizeof(bytes));
}

static int64_t intern_bits(struct contents *contents, const struct record_libraries *bits)
{
	return intern_bytes(contents, contents->bits, bits->bytes ? (const char *)bits->bits : "",
			    bits->bytes);
}

int stack_cache_put(struct stack_cache *stack_cache, const struct stack_key *key,
		    const struct cached_stack *stack)
{
	int64_t who = intern_who(&stack_cache->contents, &stack->who);
	int64_t libraries = intern_bits(&stack_cache->contents, &stack->libraries);
	int64_t native_only = intern_bits(&stack_cache->contents, &stack->native_only);
	struct stack_entry *entry;
	int r = who < 0 ? (int)who : 0;

	if (r == 0 && (libraries < 0 || native_only < 0))
		r = (int)(libraries < 0 ? libraries : native_only);
	if (r == 0)
		r = map_put(stack_cache->entries, key, (void **)&entry);
	if (r < 0) {
		stack_cache_refuse(stack_cache);
		return r;
	}
	entry->node = stack->node;
	entry->who = (uint32_t)who;
	entry->libraries = (uint32_t)libraries;
	entry->native_only = (uint32_t)native_only;
	entry->window = stack_cache->window;
	entry->own = stack->own;
	entry->vms_own = stack->vms_own;
	entry->partial = stack->partial;
	set_sizes(stack_cache);
	return 0;
}

static struct record_libraries get_bits(const struct contents *contents, uint32_t number)
{
	struct record_libraries bits;

	bits.bits = (const uint8_t *)intern_get(contents->bits, number, &bits.bytes);
	return bits;
}

bool stack_cache_get(const struct stack_cache *stack_cache, const struct stack_key *key,
		     struct cached_stack *stack)
{
	const struct stack_entry *entry = map_get(stack_cache->entries, key);

	if (!entry)
		return false;
	stack->node = entry->node;
	stack->own = entry->own;
	stack->vms_own = entry->vms_own;
	stack->partial = entry->partial;
	memcpy(&stack->who, intern_get(stack_cache->contents.who, entry->who, NULL),
	       sizeof(stack->who));
	stack->libraries = get_bits(&stack_cache->contents, entry->libraries);
	stack->native_only = get_bits(&stack_cache->contents, entry->native_only);
	return true;
}

bool stack_cache_hold(struct stack_cache *stack_cache, const struct stack_key *key)
{
	struct stack_entry *entry = map_get(stack_cache->entries, key);

	if (entry)
		entry->holds = true;
	return entry;
}

/* Marks the nodes that stacks still use. Returns their number, or -ENOMEM. */
static int64_t find_live(const struct stack_cache *stack_cache, bool **ret)
{
	const struct tree *tree = stack_cache->contents.tree;
	bool *live = calloc(tree_count(tree), sizeof(*live));
	const struct stack_key *key;
	const struct stack_entry *entry;
	int64_t count = 1;

	if (!live)
		return -ENOMEM;
	live[TREE_ROOT] = true;
	map_each (stack_cache->entries, at, key, entry) {
		for (uint32_t node = entry->node; !live[node]; node = tree_parent(tree, node)) {
			live[node] = true;
			count++;
		}
	}
	*ret = live;
	return count;
}

/* Copies the live nodes of a tree into another one; numbers[n] becomes the new number of node n. */
static int copy_live(struct tree *into, const struct tree *from, const bool *live,
		     uint32_t *numbers)
{
	for (uint32_t node = 1; node < tree_count(from); node++) {
		if (!live[node])
			continue;
		struct frame frame = tree_frame_of(from, node);
		int64_t made = tree_child_with(into, numbers[tree_parent(from, node)], &frame);
		if (made < 0)
			return (int)made;
		numbers[node] = (uint32_t)made;
	}
	return 0;
}

/* Copies the names of an entry from `from` to `into`; the entry gets their new numbers. */
static int move_entry(struct contents *into, const struct contents *from, struct stack_entry *moved)
{
	size_t len;
	const char *bytes = intern_get(from->who, moved->who, &len);
	int64_t who = intern_bytes(into, into->who, bytes, len);
	bytes = intern_get(from->bits, moved->libraries, &len);
	int64_t libraries = intern_bytes(into, into->bits, bytes, len);
	bytes = intern_get(from->bits, moved->native_only, &len);
	int64_t native_only = intern_bytes(into, into->bits, bytes, len);

	if (who < 0 || libraries < 0 || native_only < 0)
		return (int)(who < 0 ? who : libraries < 0 ? libraries : native_only);
	moved->who = (uint32_t)who;
	moved->libraries = (uint32_t)libraries;
	moved->native_only = (uint32_t)native_only;
	return 0;
}

/* Copies all entries into new contents and a new map; on failure the old ones are unchanged. */
static int move_entries(const struct stack_cache *stack_cache, struct contents *into,
			struct map *entries, const uint32_t *numbers)
{
	const struct stack_key *key;
	const struct stack_entry *entry;

	map_each (stack_cache->entries, at, key, entry) {
		struct stack_entry moved = *entry, *place;
		int r = move_entry(into, &stack_cache->contents, &moved);

		moved.node = numbers[entry->node];
		if (r == 0)
			r = map_put(entries, key, (void **)&place);
		if (r < 0)
			return r;
		*place = moved;
	}
	return 0;
}

static int rebuild_contents(struct stack_cache *stack_cache, const bool *live)
{
	_cleanup_(contents_done) struct contents made = {0};
	_cleanup_map_ struct map *entries = NULL;
	_cleanup_free_ uint32_t *numbers =
		calloc(tree_count(stack_cache->contents.tree), sizeof(*numbers));
	int r = numbers ? contents_init(&made, &stack_cache->limits) : -ENOMEM;

	if (r == 0)
		r = map_new(&entries, sizeof(struct stack_key), sizeof(struct stack_entry),
			    stack_cache->limits.stacks);
	if (r == 0)
		r = copy_live(made.tree, stack_cache->contents.tree, live, numbers);
	if (r == 0)
		r = move_entries(stack_cache, &made, entries, numbers);
	if (r < 0)
		return r;
	struct contents old = stack_cache->contents;
	stack_cache->contents = made;
	made = old;
	struct map *before = stack_cache->entries;
	stack_cache->entries = entries;
	entries = before;
	return 0;
}

/* One tree serves all processes: names add up where processes of one program come and go. */
static bool is_mostly_dead(const struct stack_cache *stack_cache, uint64_t live_nodes)
{
	uint64_t nodes = tree_count(stack_cache->contents.tree),
		 names = stack_cache->contents.names;

	return (nodes > REBUILD_MIN && live_nodes < nodes / 2) ||
	       (names > REBUILD_MIN && map_count(stack_cache->entries) < names / 2);
}

static bool is_kept(const struct stack_cache *stack_cache, const struct stack_entry *entry)
{
	return entry->holds || entry->window == stack_cache->window;
}

/* Lists the keys of stacks to be dropped. NULL: there are none, or no memory. */
static struct stack_key *list_dead(const struct stack_cache *stack_cache, size_t *count)
{
	const struct stack_key *key;
	const struct stack_entry *entry;
	size_t dead = 0;

	map_each (stack_cache->entries, at, key, entry)
		dead += !is_kept(stack_cache, entry);
	struct stack_key *keys = dead ? calloc(dead, sizeof(*keys)) : NULL;
	*count = 0;
	if (!keys)
		return NULL;
	map_each (stack_cache->entries, at, key, entry) {
		if (!is_kept(stack_cache, entry))
			keys[(*count)++] = *key;
	}
	return keys;
}

void stack_cache_purge(struct stack_cache *stack_cache)
{
	size_t count;
	_cleanup_free_ struct stack_key *dead = list_dead(stack_cache, &count);
	_cleanup_free_ bool *live = NULL;
	const struct stack_key *key;
	struct stack_entry *entry;

	for (size_t i = 0; i < count; i++)
		map_del(stack_cache->entries, &dead[i]);
	map_each (stack_cache->entries, at, key, entry)
		entry->holds = false;
	int64_t alive = find_live(stack_cache, &live);
	/* Without memory for it the next purge tries again. */
	if (alive > 0 && is_mostly_dead(stack_cache, (uint64_t)alive))
		rebuild_contents(stack_cache, live);
	set_sizes(stack_cache);
}

void stack_cache_clear(struct stack_cache *stack_cache)
{
	struct contents made;

	map_clear(stack_cache->entries);
	if (contents_init(&made, &stack_cache->limits) == 0) {
		contents_done(&stack_cache->contents);
		stack_cache->contents = made;
	}
	set_sizes(stack_cache);
}

void stack_cache_stats(const struct stack_cache *stack_cache, struct stack_cache_stats *stats)
{
	stats->stacks = __atomic_load_n(&stack_cache->stats.stacks, __ATOMIC_RELAXED);
	stats->nodes = __atomic_load_n(&stack_cache->stats.nodes, __ATOMIC_RELAXED);
	stats->refused = __atomic_load_n(&stack_cache->stats.refused, __ATOMIC_RELAXED);
}
