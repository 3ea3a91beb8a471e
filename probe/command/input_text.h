/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded text that a command reads from a file or from standard input. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "output/svg/stacks.h"

/* All zeros: nothing is read yet. */
struct input_text {
	char *data;
	size_t bytes;
	size_t reserved; /* of address space */
};

/* To be called before files are read: sets what happens at a reader that has gone, and at a file
 * that becomes shorter while it is read. */
void input_text_begin(void);

/* Reads the file ("-": standard input) into memory. Returns 0, or a negative errno after printing
 * why. */
int input_text_read(const char *path, struct input_text *text);

/*
 * Reads the file ("-": standard input) and has `stacks` read it as that side. `text` is owned by
 * the caller and used by `stacks`. Returns 0, or a negative errno after printing why.
 */
int input_text_add(struct stacks *stacks, enum stacks_side side, const char *path,
		   struct input_text *text);
void input_text_done(struct input_text *text);
#define _cleanup_input_text_ _cleanup_(input_text_done)

/* Prints the difference's warnings, a line each. */
struct difference;
void difference_print(const struct difference *difference, bool negate);

/* Prints how many lines were left out. */
void input_text_left_out(const struct stacks *stacks);
