// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/code_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "code/code_cache_state.h"

#define ASKED_MAX    65536 /* of one process in one window */
#define PENDING_MAX  65536
#define CONTENTS_MAX (1u << 20)

const char *code_loss_name(enum code_loss loss)
{
	static const char *const names[] = {CODE_LOSSES(NAMED_NAME)};

	return names[loss];
}

static enum code_loss loss_of(int error)
{
	switch (error) {
	case -ESRCH:
		return CODE_LOST_GONE;
	case -ESTALE:
		return CODE_LOST_CHANGED;
	case -EBADMSG:
		return CODE_LOST_ODD;
	case -ETIMEDOUT:
		return CODE_LOST_HUNG;
	case -ENOMEM:
	case -ENOSPC:
		return CODE_LOST_NO_ROOM;
	default:
		return CODE_LOST_UNREADABLE;
	}
}

/* ---- processes ---- */

static struct process_code *process_new(struct code_cache *cache)
{
	struct process_code *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->cache = cache;
	process->next = cache->processes;
	process->link = &cache->processes;
	if (process->next)
		process->next->link = &process->next;
	cache->processes = process;
	return process;
}

struct process_code *code_cache_make_process(struct code_cache *cache, struct target *target)
{
	struct process_code **process = &target->code_known[cache->kind->number];

	if (!*process)
		*process = process_new(cache);
	return *process;
}

static struct process_code *process_fork(const struct process_code *parent)
{
	struct process_code *process = parent && parent->layer ? process_new(parent->cache) : NULL;

	if (process)
		process->layer = code_layer_ref(parent->layer);
	return process;
}

static void process_free(struct process_code *process)
{
	if (!process)
		return;
	*process->link = process->next;
	if (process->next)
		process->next->link = process->link;
	reading_drop(process);
	copies_drop(process);
	code_layer_unref(process->layer);
	code_alone_drop(process);
	map_free(process->asked);
	free(process);
}

static void processes_fork(struct process_code *processes[CODES_KINDS],
			   struct process_code *const of[CODES_KINDS])
{
	for (int i = 0; i < CODES_KINDS; i++)
		processes[i] = process_fork(of[i]);
}

static void processes_free(struct process_code *const processes[CODES_KINDS])
{
	for (int i = 0; i < CODES_KINDS; i++)
		process_free(processes[i]);
}

const struct process_code_ops code_cache_ops = {processes_fork, processes_free};

/* ---- all of a kind ---- */

static void flush_codes(void *arg)
{
	struct code_cache *cache = arg;

	cache->flushing_posted = false;
	code_cache_flush(cache);
}

int code_cache_new(struct code_cache **ret, struct loop *loop, struct worker *urgent,
		   const struct target_table *table, const struct code_kind *kind, size_t bytes_max)
{
	_cleanup_free_ struct code_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	int r = map_new(&cache->contents, sizeof(uint64_t), sizeof(struct known_code *),
			CONTENTS_MAX);
	if (r < 0)
		return r;
	cache->seed = hash_seed();
	cache->loop = loop;
	cache->urgent = urgent;
	cache->table = table;
	cache->kind = kind;
	cache->bytes_max = bytes_max;
	cache->window = 1;
	cache->flushing = (struct loop_call){.run = flush_codes, .arg = cache, .name = "codes"};
	cache->search_timer =
		(struct loop_timer){.expired = code_searches_due, .arg = cache, .name = "codes"};
	*ret = TAKE_PTR(cache);
	return 0;
}

void code_cache_free(struct code_cache *cache)
{
	if (!cache)
		return;
	loop_unpost(cache->loop, &cache->flushing);
	loop_timer_cancel(cache->loop, &cache->search_timer);
	map_free(cache->contents);
	free(cache);
}

/* ---- what stacks have ---- */

static void fail_code(struct code_cache *cache, struct asked_code *asked, int error)
{
	asked->failed = true;
	cache->stats.lost[loss_of(error)]++;
}

static int ask_code(struct code_cache *cache, const struct target *target,
		    const struct code_key *key, const uint64_t pair[2])
{
	if (target_hangs(target))
		return -ETIMEDOUT;
	if (cache->pending >= PENDING_MAX || code_layer_is_full(code_cache_process(cache, target)))
		return -ENOSPC;
	return reading_add(cache, target, key, pair);
}

static bool is_piece_alone(const struct code_kind *kind, const void *piece)
{
	return kind->is_alone && kind->is_alone(piece);
}

static void want_code(struct code_cache *cache, struct target *target, const struct code_key *key,
		      const uint64_t pair[2])
{
	struct process_code *process = code_cache_process(cache, target);
	const struct known_code *known = code_layer_find(process->layer, key);
	struct asked_code *asked;

	if (known && cache->kind->has(known->piece, pair)) {
		if (is_piece_alone(cache->kind, known->piece))
			code_alone_note(cache, target, key);
		return;
	}
	if (!process->asked &&
	    map_new(&process->asked, sizeof(*key), sizeof(*asked), ASKED_MAX) < 0)
		return; /* the next time */
	int r = map_put(process->asked, key, (void **)&asked);
	if (r == -ENOSPC)
		cache->stats.lost[CODE_LOST_NO_ROOM]++;
	if (r != 1)
		return;
	memcpy(asked->pair, pair, sizeof(asked->pair));
	r = ask_code(cache, target, key, pair);
	if (r < 0)
		fail_code(cache, asked, r);
}

static void flush_soon(struct code_cache *cache)
{
	if (!cache->open || cache->flushing_posted)
		return;
	cache->flushing_posted = true;
	loop_post(cache->loop, &cache->flushing);
}

void code_cache_want_one(struct code_cache *cache, struct target *target,
			 const struct code_key *key, const uint64_t pair[2])
{
	if (!cache->kind->layout(target, NULL) || !code_cache_make_process(cache, target))
		return;
	want_code(cache, target, key, pair);
	flush_soon(cache);
}

void code_cache_want(struct code_cache *cache, struct target *target, const uint64_t *words,
		     size_t count)
{
	struct code_cursor cursor = {.words = words, .count = count};
	struct code_key key, before = {0};
	uint64_t pair[2];

	if (!cache->kind->layout(target, NULL))
		return;
	while (cache->kind->next(&cursor, pair, &key)) {
		/* Recursion: the same piece again. */
		if (key.address == before.address && key.sum == before.sum)
			continue;
		if (!code_cache_make_process(cache, target))
			return;
		want_code(cache, target, &key, pair);
		before = key;
	}
	flush_soon(cache);
}

/* Returns whether the stack has code of any kind. Java's details are the last words of a stack. */
static bool has_code(const struct stack *stack, const uint64_t *words)
{
	return (stack->python != PYTHON_NONE && stack->python != PYTHON_PENDING) ||
	       (stack->words_count &&
		words[stack->words_count - 1] >> FRAME_KIND_SHIFT == FRAME_JAVA_DETAIL);
}

void code_cache_want_stack(struct code_cache *const cache[CODES_KINDS], const struct stack *stack,
			   const uint64_t *words)
{
	struct target *target;

	if (!has_code(stack, words))
		return;
	target = target_table_find(cache[0]->table, stack->key.tgid, stack->target_id);
	for (int i = 0; target && target->state != TARGET_REJECTED && i < CODES_KINDS; i++)
		code_cache_want(cache[i], target, words, stack->words_count);
}

void code_cache_learn(struct code_cache *cache, struct target *target, const struct code_key *key,
		      void *piece, int error)
{
	struct process_code *process = code_cache_process(cache, target);
	struct asked_code *asked = process->asked ? map_get(process->asked, key) : NULL;
	/* Reading again won't help: what the pair asks for isn't in the piece. */
	bool in_vain = piece && asked && !cache->kind->has(piece, asked->pair);
	bool is_alone = piece && is_piece_alone(cache->kind, piece);
	int r = piece ? code_layer_add(process, key, piece) : error;

	if (r == 0 && is_alone)
		code_alone_note(cache, target, key);
	cache->stats.read += piece != NULL;
	if (r < 0 && asked)
		fail_code(cache, asked, r);
	else if (r < 0)
		cache->stats.lost[loss_of(r)]++; /* the window has ended meanwhile */
	else if (in_vain)
		asked->failed = true;
	else if (asked)
		map_del(process->asked, key);
}

void *code_cache_find(const struct target *target, const struct code_kind *kind,
		      const struct code_key *key)
{
	const struct process_code *process = target->code_known[kind->number];
	struct known_code *known = process ? code_layer_find(process->layer, key) : NULL;

	return known ? known->piece : NULL;
}

/* ---- after a window ---- */

void code_cache_sweep(struct code_cache *cache)
{
	for (struct process_code *process = cache->processes; process; process = process->next) {
		map_free(TAKE_PTR(process->asked));
		copies_drop(process);
	}
	code_layers_sweep(cache);
	code_searches_sweep(cache);
}

void code_cache_stats(const struct code_cache *cache, struct code_cache_stats *stats)
{
	*stats = cache->stats;
}
