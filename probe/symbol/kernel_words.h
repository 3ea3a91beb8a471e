/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dictionary compression of function names: a name is stored as the numbers of its words, as
 * `__x64_sys_read` is `__x64`, `_sys`, `_read`. The kernel's 65,000 names have 12,000 words, so a
 * name takes 8 bytes instead of 23. The code of a name is
 *
 *	| number of a word, from 1 (ULEB128) | … | 0 |
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/intern.h"

struct kernel_words {
	char *text;	  /* all words, one behind the other */
	uint32_t *begins; /* offset of each word in `text`, and the end of the last word */
	size_t count;
};

/* Adds the name's code to `codes`, and new words to `words`. Returns 0; or -ENOSPC or -ENOMEM, and
 * then a part of the code was added. */
int kernel_words_encode(struct intern *words, struct buf *codes, const char *name);

/* Copies the words into a form for decoding only, which takes less memory. Returns 0 or -ENOMEM. */
int kernel_words_keep(struct kernel_words *kept, const struct intern *words);
void kernel_words_done(struct kernel_words *words);

/* Writes the name of a code into `name`, with a NUL, cut to `bytes`. */
void kernel_words_decode(const struct kernel_words *words, const char *code, char *name,
			 size_t bytes);

/* Write and read a ULEB128 number; also used for numbers beside codes. */
void kernel_words_number(struct buf *buf, uint64_t number);
uint64_t kernel_words_read(const char **at);
