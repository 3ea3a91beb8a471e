/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streaming search for the functions that hold given addresses. Symbols and nameless pieces of code
 * are passed one after the other, in any order; only those that are answers so far are kept. Memory
 * grows with the number of addresses, time with symbols × log(addresses), whatever the symbols are.
 *
 * Addresses are 32-bit distances from a base. The answer for an address is:
 *	of the symbols with a size that hold the address, the one that starts last;
 *	else the last symbol (or start of nameless code) without a size at or before the address,
 *	unless a function or piece with a size has ended since, or a piece that holds the address
 *has begun; else of the nameless pieces that hold the address, the one that starts last; else no
 *name, from the end of the last function on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEARCH_NO_NAME UINT64_MAX

struct address_search;

/* Returns 0 or -ENOMEM. `addresses` are sorted, and borrowed until address_search_free(). */
int address_search_new(struct address_search **ret, const uint32_t *addresses, size_t count);
void address_search_free(struct address_search *search);

/* A symbol, as it is passed to the search. */
struct passing {
	uint32_t start, bytes; /* bytes = 0: without a size */
	uint64_t name;	       /* the caller's key of the name; SEARCH_NO_NAME: nameless code */
	uint8_t rank;	       /* of symbols with one start the highest rank wins, then the first */
	bool unsure;	       /* the symbol may not be a function: it counts only once taken */

	/* set by address_search_meet() */
	size_t first, end; /* numbers of the addresses that the symbol holds */
};

/* Passes a symbol. Returns whether it could be an answer: only then its rank and name matter, and
 * address_search_take() has to be called to make it a candidate. */
bool address_search_meet(struct address_search *search, struct passing *symbol);
void address_search_take(struct address_search *search, const struct passing *symbol);

/* Returns whether address number `i` lies in a symbol or piece with a size. */
bool address_search_holds(const struct address_search *search, size_t i);
/* Return the nearest start or end that was passed so far between address number `i` and the one
 * before it (0: none), or the one behind it (UINT32_MAX: none). */
uint32_t address_search_low(const struct address_search *search, size_t i);
uint32_t address_search_high(const struct address_search *search, size_t i);
/* Returns whether all addresses lie so. */
bool address_search_is_covered(const struct address_search *search);

struct found {
	uint64_t name;	    /* SEARCH_NO_NAME: no name */
	uint32_t start;	    /* of the function */
	bool is_end;	    /* `start` is the end of the function before: padding may follow */
	uint32_t low, high; /* [low, high): addresses around the question with the same answer */
};

/* Sets *found to the answer for address number `i`. Call this after the last symbol. */
void address_search_answer(struct address_search *search, size_t i, struct found *found);
