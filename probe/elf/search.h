/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For many addresses at once: which function holds each, while symbols go by one after the other in
 * any order and none is kept that is not an answer. Memory grows with the addresses, time with
 * symbols × log(addresses), whatever the symbols are.
 *
 * Addresses are 32-bit distances from a base. What counts:
 *	of the functions with a size that hold the address the one that starts last;
 *	else the last function without a size (or start of nameless code) at or before it, unless
 *	one with a size has ended since;
 *	else nothing, from the end of the last function on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEARCH_NO_NAME UINT64_MAX

struct search;

/* `addresses`: sorted; borrowed. -ENOMEM */
int search_new(struct search **ret, const uint32_t *addresses, size_t count);
void search_free(struct search *search);

/* A symbol that goes by. */
struct passing {
	uint32_t start, bytes; /* bytes = 0: without a size */
	uint64_t name;	       /* what finds its name again; SEARCH_NO_NAME */
	uint8_t rank;	       /* of several at one start the highest counts, then the first */
	bool unsure;	       /* it may turn out not to count: until it is taken it doesn't */

	/* the search's own */
	size_t first, end; /* the addresses that it holds */
};

/* Tells whether it could be an answer; only then its rank and name matter, and search_take() has
 * to be called for it to become one. */
bool search_meet(struct search *search, struct passing *symbol);
void search_take(struct search *search, const struct passing *symbol);

/* Whether all addresses lie in functions with a size: nothing without one can matter any more. */
bool search_is_covered(const struct search *search);

struct found {
	uint64_t name;	    /* SEARCH_NO_NAME: it has none */
	uint32_t start;	    /* of the function */
	uint32_t low, high; /* [low, high): addresses around it that have the same answer */
};

/* After the last symbol. */
void search_answer(struct search *search, size_t i, struct found *found);
