/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of functions as numbers of their words: `__x64_sys_read` is `__x64`, `_sys`, `_read`. The
 * kernel's 65,000 have 12,000 words: a name takes 8 bytes instead of 23. Its code is
 *
 *	| number of a word, from 1 (ULEB128) | … | 0 |
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/intern.h"

struct kernel_words {
	char *text;	  /* of all of them */
	uint32_t *begins; /* of each, and the end of the last one */
	size_t count;
};

/* Adds the name's code; words that are new are added, too. -ENOSPC, -ENOMEM: a part was added. */
int kernel_words_encode(struct intern *words, struct buf *codes, const char *name);

/* What is needed to read codes, in less room. -ENOMEM */
int kernel_words_keep(struct kernel_words *kept, const struct intern *words);
void kernel_words_done(struct kernel_words *words);

/* The name of that code, cut where there is no room. */
void kernel_words_decode(const struct kernel_words *words, const char *code, char *name,
			 size_t bytes);

/* ULEB128, also used for other numbers beside codes. */
void kernel_words_number(struct buf *buf, uint64_t number);
uint64_t kernel_words_read(const char **at);
