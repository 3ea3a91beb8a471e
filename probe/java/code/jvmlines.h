/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder for a Java method's table of lines, which lies compressed behind the bytecodes. The table
 * is hostile; any bytes give a result.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct jvmline {
	uint16_t bci; /* the first bytecode of `line` */
	uint16_t line;
	uint32_t order; /* number of the entry in the table */
};

/*
 * Decodes a table into `lines`, at most `max` entries, sorted by bci; returns how many. An entry
 * takes at least a byte of the table. `base`: java/code/unsigned5.h.
 */
size_t jvmlines_decode(struct jvmline *lines, size_t max, const uint8_t *table, size_t bytes,
		       uint8_t base);

/* Returns the line at a bci, as the VM's stack traces have it; 0: there is none. */
uint32_t jvmlines_line(const struct jvmline *lines, size_t count, uint32_t bci);
