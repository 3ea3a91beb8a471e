// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function with a size holds a run of the sorted addresses. Runs are entered into a segment tree:
 * leaf i + count is address i, node i has the children 2i and 2i + 1. A run is put into the few
 * nodes that make it up; each node keeps the best candidate that it was given. The answer for an
 * address is the best candidate on the way from its leaf to the top.
 *
 * A candidate before an address is entered at the one address next to the candidate;
 * spread_entries() takes it to the others at the end.
 */
#include "elf/address_search.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct candidate {
	uint64_t name;
	uint32_t start;
	uint32_t order; /* number of the address_search_take(), from 1 on; 0: no candidate */
	uint8_t rank;
};

/* What is known around an address. */
struct around {
	struct candidate before; /* the last without a size that starts at or before the address */
	uint32_t end;		 /* the last end of a function with a size at or before it */
	uint32_t low, high;	 /* the nearest start or end at or before it, and behind it */
};

struct address_search {
	const uint32_t *addresses;
	size_t count;
	struct candidate *tree;
	struct around *around;
	uint32_t orders;
	size_t last; /* the first address at or behind the start of the last symbol */
	bool spread;
};

int address_search_new(struct address_search **ret, const uint32_t *addresses, size_t count)
{
	struct address_search *search = calloc(1, sizeof(*search));

	if (!search)
		return -ENOMEM;
	search->addresses = addresses;
	search->count = count;
	search->tree = calloc(2 * count + 1, sizeof(*search->tree));
	search->around = calloc(count + 1, sizeof(*search->around));
	if (!search->tree || !search->around) {
		address_search_free(search);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		search->around[i].high = UINT32_MAX;
	*ret = search;
	return 0;
}

void address_search_free(struct address_search *search)
{
	if (!search)
		return;
	free(search->tree);
	free(search->around);
	free(search);
}

/* Returns the number of the first address at or behind `at`. Symbols mostly come in order, so
 * `guess` is often right. */
static size_t first_from(const struct address_search *search, uint32_t at, size_t guess)
{
	const uint32_t *from = search->addresses;

	if ((guess == 0 || from[guess - 1] < at) && (guess == search->count || from[guess] >= at))
		return guess;
	/* Binary search without a branch that the CPU can't predict. */
	for (size_t left = search->count; left > 1;) {
		size_t half = left / 2;

		from += from[half - 1] < at ? half : 0;
		left -= half;
	}
	return (size_t)(from - search->addresses) + (search->count && *from < at);
}

/* Enters that a symbol starts or ends at `at`, which lies between the addresses i - 1 and i. */
static void enter_border(struct address_search *search, size_t i, uint32_t at)
{
	if (i < search->count && search->around[i].low < at)
		search->around[i].low = at;
	if (i > 0 && search->around[i - 1].high > at)
		search->around[i - 1].high = at;
}

/* With a size, a nameless piece gives way to each symbol; without one it may be the nearer start.
 */
static bool is_better(const struct candidate *a, const struct candidate *b, bool sized)
{
	if (!a->order || !b->order)
		return a->order != 0;
	if (sized && (a->name == SEARCH_NO_NAME) != (b->name == SEARCH_NO_NAME))
		return b->name == SEARCH_NO_NAME;
	if (a->start != b->start)
		return a->start > b->start;
	return a->rank != b->rank ? a->rank > b->rank : a->order < b->order;
}

static uint32_t end_of(const struct passing *symbol)
{
	uint32_t room = UINT32_MAX - symbol->start;

	return symbol->start + (symbol->bytes < room ? symbol->bytes : room);
}

static void enter_end(struct address_search *search, const struct passing *symbol, uint32_t end)
{
	if (symbol->end < search->count && search->around[symbol->end].end < end)
		search->around[symbol->end].end = end;
}

bool address_search_meet(struct address_search *search, struct passing *symbol)
{
	uint32_t end = end_of(symbol);
	size_t first = search->last = first_from(search, symbol->start, search->last);

	symbol->first = symbol->end = first;
	enter_border(search, first, symbol->start);
	if (symbol->bytes) {
		symbol->end = first_from(search, end, first);
		enter_border(search, symbol->end, end);
		if (!symbol->unsure)
			enter_end(search, symbol, end);
	}
	if (symbol->first < symbol->end || (symbol->bytes && symbol->unsure))
		return true;
	if (symbol->bytes || first == search->count)
		return false;
	const struct candidate *now = &search->around[first].before;
	if (now->order && symbol->start == now->start)
		return symbol->name != SEARCH_NO_NAME;
	return !now->order || symbol->start > now->start;
}

static void improve_candidate(struct candidate *now, const struct candidate *candidate, bool sized)
{
	if (is_better(candidate, now, sized))
		*now = *candidate;
}

void address_search_take(struct address_search *search, const struct passing *symbol)
{
	struct candidate candidate = {
		.name = symbol->name,
		.start = symbol->start,
		.order = ++search->orders,
		.rank = symbol->rank,
	};

	size_t left = symbol->first + search->count, right = symbol->end + search->count;
	for (; left < right; left /= 2, right /= 2) {
		if (left % 2)
			improve_candidate(&search->tree[left++], &candidate, true);
		if (right % 2)
			improve_candidate(&search->tree[--right], &candidate, true);
	}
	if (symbol->bytes)
		enter_end(search, symbol, end_of(symbol));
	if (!symbol->bytes && symbol->first < search->count)
		improve_candidate(&search->around[symbol->first].before, &candidate, false);
}

static struct candidate find_holder(const struct address_search *search, size_t i)
{
	struct candidate best = {0};

	for (size_t node = i + search->count; node > 0; node /= 2)
		improve_candidate(&best, &search->tree[node], true);
	return best;
}

bool address_search_holds(const struct address_search *search, size_t i)
{
	return find_holder(search, i).order;
}

uint32_t address_search_low(const struct address_search *search, size_t i)
{
	return search->around[i].low;
}

uint32_t address_search_high(const struct address_search *search, size_t i)
{
	return search->around[i].high;
}

bool address_search_is_covered(const struct address_search *search)
{
	for (size_t i = 0; i < search->count; i++) {
		if (!address_search_holds(search, i))
			return false;
	}
	return true;
}

/* Takes what was entered at one address on to the other addresses on that side. */
static void spread_entries(struct address_search *search)
{
	struct around *around = search->around;

	for (size_t i = 1; i < search->count; i++) {
		improve_candidate(&around[i].before, &around[i - 1].before, false);
		if (around[i].end < around[i - 1].end)
			around[i].end = around[i - 1].end;
		if (around[i].low < around[i - 1].low)
			around[i].low = around[i - 1].low;
	}
	for (size_t i = search->count; i-- > 1;) {
		if (around[i - 1].high > around[i].high)
			around[i - 1].high = around[i].high;
	}
	search->spread = true;
}

void address_search_answer(struct address_search *search, size_t i, struct found *found)
{
	if (!search->spread)
		spread_entries(search);
	const struct around *around = &search->around[i];
	struct candidate held = find_holder(search, i);
	const struct candidate *before = &around->before;

	*found = (struct found){
		.name = SEARCH_NO_NAME,
		.start = around->end,
		.is_end = true,
		.low = around->low,
		.high = around->high,
	};
	if ((!held.order || (held.name == SEARCH_NO_NAME && before->start >= held.start)) &&
	    before->order && before->start >= around->end)
		held = *before;
	if (!held.order)
		return;
	found->name = held.name;
	found->start = held.start;
	found->is_end = false;
}
