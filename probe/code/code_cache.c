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

/* ---- books ---- */

static struct process_code *book_new(struct code_cache *codes)
{
	struct process_code *book = calloc(1, sizeof(*book));

	if (!book)
		return NULL;
	book->codes = codes;
	book->next = codes->books;
	book->link = &codes->books;
	if (book->next)
		book->next->link = &book->next;
	codes->books = book;
	return book;
}

struct process_code *codes_make_book(struct code_cache *codes, struct target *target)
{
	struct process_code **book = &target->code_known[codes->kind->number];

	if (!*book)
		*book = book_new(codes);
	return *book;
}

static struct process_code *book_fork(const struct process_code *parent)
{
	struct process_code *book = parent && parent->shelf ? book_new(parent->codes) : NULL;

	if (book)
		book->shelf = shelf_ref(parent->shelf);
	return book;
}

static void book_free(struct process_code *book)
{
	if (!book)
		return;
	*book->link = book->next;
	if (book->next)
		book->next->link = book->link;
	reading_drop(book);
	copies_drop(book);
	shelf_unref(book->shelf);
	map_free(book->asked);
	free(book);
}

static void codebooks_fork(struct process_code *books[CODES_KINDS],
			   struct process_code *const of[CODES_KINDS])
{
	for (int i = 0; i < CODES_KINDS; i++)
		books[i] = book_fork(of[i]);
}

static void codebooks_free(struct process_code *const books[CODES_KINDS])
{
	for (int i = 0; i < CODES_KINDS; i++)
		book_free(books[i]);
}

const struct process_code_ops code_cache_ops = {codebooks_fork, codebooks_free};

/* ---- all of a kind ---- */

static void flush_codes(void *arg)
{
	struct code_cache *codes = arg;

	codes->flushing_posted = false;
	code_cache_flush(codes);
}

int code_cache_new(struct code_cache **ret, struct loop *loop, struct worker *urgent,
		   const struct target_table *table, const struct code_kind *kind, size_t bytes_max)
{
	_cleanup_free_ struct code_cache *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	int r = map_new(&codes->contents, sizeof(uint64_t), sizeof(struct known_code *),
			CONTENTS_MAX);
	if (r < 0)
		return r;
	codes->seed = hash_seed();
	codes->loop = loop;
	codes->urgent = urgent;
	codes->table = table;
	codes->kind = kind;
	codes->bytes_max = bytes_max;
	codes->window = 1;
	codes->flushing = (struct loop_call){.run = flush_codes, .arg = codes};
	*ret = TAKE_PTR(codes);
	return 0;
}

void code_cache_free(struct code_cache *codes)
{
	if (!codes)
		return;
	loop_unpost(codes->loop, &codes->flushing);
	map_free(codes->contents);
	free(codes);
}

/* ---- what stacks have ---- */

static void fail_code(struct code_cache *codes, struct asked_code *asked, int error)
{
	asked->failed = true;
	codes->stats.lost[loss_of(error)]++;
}

static int ask_code(struct code_cache *codes, const struct target *target,
		    const struct code_key *key, const uint64_t pair[2])
{
	if (target_hangs(target))
		return -ETIMEDOUT;
	if (codes->pending >= PENDING_MAX || shelf_is_full(codes_book(codes, target)))
		return -ENOSPC;
	return reading_add(codes, target, key, pair);
}

static void want_code(struct code_cache *codes, struct target *target, const struct code_key *key,
		      const uint64_t pair[2])
{
	struct process_code *book = codes_book(codes, target);
	const struct known_code *known = shelf_find(book->shelf, key);
	struct asked_code *asked;

	if (known && codes->kind->has(known->piece, pair))
		return;
	if (!book->asked && map_new(&book->asked, sizeof(*key), sizeof(*asked), ASKED_MAX) < 0)
		return; /* the next time */
	int r = map_put(book->asked, key, (void **)&asked);
	if (r == -ENOSPC)
		codes->stats.lost[CODE_LOST_NO_ROOM]++;
	if (r != 1)
		return;
	memcpy(asked->pair, pair, sizeof(asked->pair));
	r = ask_code(codes, target, key, pair);
	if (r < 0)
		fail_code(codes, asked, r);
}

static void flush_soon(struct code_cache *codes)
{
	if (!codes->open || codes->flushing_posted)
		return;
	codes->flushing_posted = true;
	loop_post(codes->loop, &codes->flushing);
}

void code_cache_want_one(struct code_cache *codes, struct target *target,
			 const struct code_key *key, const uint64_t pair[2])
{
	if (!codes->kind->layout(target, NULL) || !codes_make_book(codes, target))
		return;
	want_code(codes, target, key, pair);
	flush_soon(codes);
}

void code_cache_want(struct code_cache *codes, struct target *target, const uint64_t *words,
		     size_t count)
{
	struct code_cursor cursor = {.words = words, .count = count};
	struct code_key key, before = {0};
	uint64_t pair[2];

	if (!codes->kind->layout(target, NULL))
		return;
	while (codes->kind->next(&cursor, pair, &key)) {
		/* Recursion: the same piece again. */
		if (key.address == before.address && key.sum == before.sum)
			continue;
		if (!codes_make_book(codes, target))
			return;
		want_code(codes, target, &key, pair);
		before = key;
	}
	flush_soon(codes);
}

/* Returns whether the stack has code of any kind. Java's details are the last words of a stack. */
static bool has_code(const struct stack *stack, const uint64_t *words)
{
	return stack->python != PYTHON_NONE ||
	       (stack->words_count &&
		words[stack->words_count - 1] >> FRAME_KIND_SHIFT == FRAME_JAVA_DETAIL);
}

void code_cache_want_stack(struct code_cache *const codes[CODES_KINDS], const struct stack *stack,
			   const uint64_t *words)
{
	struct target *target;

	if (!has_code(stack, words))
		return;
	target = target_table_find(codes[0]->table, stack->key.tgid, stack->target_id);
	for (int i = 0; target && target->state != TARGET_REJECTED && i < CODES_KINDS; i++)
		code_cache_want(codes[i], target, words, stack->words_count);
}

void codes_learn(struct code_cache *codes, struct target *target, const struct code_key *key,
		 void *piece, int error)
{
	struct process_code *book = codes_book(codes, target);
	struct asked_code *asked = book->asked ? map_get(book->asked, key) : NULL;
	/* Reading again won't help: what the pair asks for isn't in the piece. */
	bool in_vain = piece && asked && !codes->kind->has(piece, asked->pair);
	int r = piece ? shelf_add(book, key, piece) : error;

	codes->stats.read += piece != NULL;
	if (r < 0 && asked)
		fail_code(codes, asked, r);
	else if (r < 0)
		codes->stats.lost[loss_of(r)]++; /* the window has ended meanwhile */
	else if (in_vain)
		asked->failed = true;
	else if (asked)
		map_del(book->asked, key);
}

void *code_cache_find(const struct target *target, const struct code_kind *kind,
		      const struct code_key *key)
{
	const struct process_code *book = target->code_known[kind->number];
	struct known_code *known = book ? shelf_find(book->shelf, key) : NULL;

	return known ? known->piece : NULL;
}

/* ---- after a window ---- */

void code_cache_sweep(struct code_cache *codes)
{
	for (struct process_code *book = codes->books; book; book = book->next) {
		map_free(TAKE_PTR(book->asked));
		copies_drop(book);
	}
	shelves_sweep(codes);
}

void code_cache_stats(const struct code_cache *codes, struct code_cache_stats *stats)
{
	*stats = codes->stats;
}
