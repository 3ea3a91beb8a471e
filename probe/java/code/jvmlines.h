/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lines of a Java method, from the compressed table behind its bytecodes; the table is hostile,
 * any bytes have an answer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct jvmline {
	uint16_t bci;	/* from here on … */
	uint16_t line;	/* … it is this line */
	uint32_t order; /* in the table */
};

/*
 * Decodes what `bytes` of a table have into `lines`, sorted, at most `max`; returns how many. Each
 * takes a byte at least. `base` is UNSIGNED5's.
 */
size_t jvmlines_decode(struct jvmline *lines, size_t max, const uint8_t *table, size_t bytes,
		       uint8_t base);

/* The line at a bci, as the VM says it in stack traces; 0: there is none. */
uint32_t jvmlines_line(const struct jvmline *lines, size_t count, uint32_t bci);
