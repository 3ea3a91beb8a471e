// SPDX-License-Identifier: GPL-2.0-or-later
/* address_search.c against the plain way: all symbols in one sorted table. */
#include "unit/lib/unit.h"

#include "base/cleanup.h"
#include "elf/address_search.h"

#define SYMBOLS 60
#define NAMED	1000 /* + the symbol's number */

static void free_search(struct address_search **search)
{
	address_search_free(*search);
}

struct expected {
	uint64_t name;
	uint32_t start;
};

static bool before(const struct passing *a, const struct passing *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	if (!a->bytes != !b->bytes)
		return a->bytes;
	return a->rank > b->rank; /* else as they came */
}

/* As sorting and looking backwards does it. */
static void expect(const struct passing *symbols, size_t count, uint32_t at,
		   struct expected *result)
{
	const struct passing *holds = NULL, *piece = NULL, *last = NULL;
	uint32_t end = 0;

	for (size_t i = 0; i < count; i++) {
		const struct passing *symbol = &symbols[i];

		if (symbol->start > at)
			continue;
		if (symbol->bytes && at - symbol->start < symbol->bytes) {
			const struct passing **best =
				symbol->name == SEARCH_NO_NAME ? &piece : &holds;

			if (!*best || symbol->start > (*best)->start ||
			    (symbol->start == (*best)->start && before(symbol, *best)))
				*best = symbol;
		} else if (symbol->bytes) {
			if (symbol->start + symbol->bytes > end)
				end = symbol->start + symbol->bytes;
		} else if (!last || symbol->start > last->start ||
			   (symbol->start == last->start && before(symbol, last))) {
			last = symbol;
		}
	}
	*result = (struct expected){SEARCH_NO_NAME, end};
	if (!holds && last && last->start >= end && (!piece || last->start >= piece->start))
		holds = last;
	if (!holds)
		holds = piece;
	if (!holds)
		return;
	result->name = holds->name;
	result->start = holds->start;
}

/* Small numbers, so that starts and ends meet. */
static size_t make_symbols(struct passing *symbols, uint64_t *random, uint32_t space)
{
	size_t count = random_next(random) % SYMBOLS;

	for (size_t i = 0; i < count; i++) {
		uint64_t bits = random_next(random);

		symbols[i] = (struct passing){
			.start = (uint32_t)(bits % space),
			.bytes = bits >> 32 & 1 ? (uint32_t)(bits >> 33) % 40 : 0,
			.name = NAMED + i,
			.rank = (uint8_t)(bits >> 60 & 3),
		};
		/* As in ELF files: a size ranks highest, what has no name lowest. */
		if (symbols[i].bytes)
			symbols[i].rank |= 1u << 7;
		if (bits >> 50 & 1)
			symbols[i].name = SEARCH_NO_NAME;
		if (symbols[i].name == SEARCH_NO_NAME)
			symbols[i].rank = 0;
		else
			symbols[i].rank |= 1u << 2;
	}
	return count;
}

static void ask(const struct passing *symbols, size_t count, const uint32_t *addresses,
		size_t asked, struct found *found)
{
	_cleanup_(free_search) struct address_search *search = NULL;

	assert_int_equal(address_search_new(&search, addresses, asked), 0);
	for (size_t i = 0; i < count; i++) {
		struct passing symbol = symbols[i];

		if (address_search_meet(search, &symbol))
			address_search_take(search, &symbol);
	}
	for (size_t i = 0; i < asked; i++)
		address_search_answer(search, i, &found[i]);
}

static void check(const struct passing *symbols, size_t count, uint32_t at,
		  const struct found *found)
{
	struct expected expected;

	expect(symbols, count, at, &expected);
	if (found->name != expected.name || found->start != expected.start)
		fail_msg("at %u: %ld from %u, not %ld from %u", at, (long)found->name, found->start,
			 (long)expected.name, expected.start);
}

static void answers_are_those_of_a_sorted_table(void **state)
{
	uint64_t random = 11;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct passing symbols[SYMBOLS];
		struct found found[50];
		uint32_t addresses[50], at = 0;
		uint32_t space = round % 2 ? 60 : 300;
		size_t count = make_symbols(symbols, &random, space), asked = 0;

		while (asked < 50 && (at += (uint32_t)(random_next(&random) % 9)) < space)
			addresses[asked++] = at; /* some twice */
		ask(symbols, count, addresses, asked, found);
		for (size_t i = 0; i < asked; i++)
			check(symbols, count, addresses[i], &found[i]);
	}
}

static void an_answer_holds_on_its_whole_stretch_and_others_may_differ(void **state)
{
	uint64_t random = 12;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct passing symbols[SYMBOLS];
		size_t count = make_symbols(symbols, &random, 300);
		uint32_t at = (uint32_t)(random_next(&random) % 300);
		struct found found;

		ask(symbols, count, &at, 1, &found);
		assert_true(found.low <= at && at < found.high);
		for (uint32_t near = found.low; near < found.high && near < 400; near++) {
			struct found alone;

			ask(symbols, count, &near, 1, &alone);
			assert_int_equal(alone.name, found.name);
			assert_int_equal(alone.start, found.start);
			assert_int_equal(alone.low, found.low);
			assert_int_equal(alone.high, found.high);
		}
	}
}

/* However many hold however many addresses, a symbol costs a logarithm: 2e6 × 1e4 would take
 * minutes. */
static void symbols_that_hold_everything_cost_no_more(void **state)
{
	enum { ASKED = 10000 };
	static uint32_t addresses[ASKED];
	_cleanup_(free_search) struct address_search *search = NULL;
	struct found found;

	(void)state;
	for (uint32_t i = 0; i < ASKED; i++)
		addresses[i] = 1000000 + i;
	assert_int_equal(address_search_new(&search, addresses, ASKED), 0);
	for (uint32_t i = 0; i < 1000000; i++) {
		struct passing symbol = {.start = i, .bytes = 2000000, .name = i};

		assert_true(address_search_meet(search, &symbol));
		address_search_take(search, &symbol);
	}
	assert_true(address_search_is_covered(search));
	address_search_answer(search, ASKED / 2, &found);
	assert_int_equal(found.name, 999999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_a_sorted_table),
		cmocka_unit_test(an_answer_holds_on_its_whole_stretch_and_others_may_differ),
		cmocka_unit_test(symbols_that_hold_everything_cost_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
