/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that is read here and there: the last pages that were asked for are kept, so that memory
 * is bounded whatever is asked. Nothing is mapped into memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pages;

/* Keeps at most `count` pages, a power of two. `fd` is borrowed. -ENOMEM */
int pages_new(struct pages **ret, int fd, size_t count);
void pages_free(struct pages *pages);

/* What there is of the file from `offset` on, at least one byte, to the end of its page; valid
 * until the next call. NULL: it ends before, or can't be read. */
const uint8_t *pages_at(struct pages *pages, uint64_t offset, size_t *bytes);

/* All of `bytes`. -EIO */
int pages_read(struct pages *pages, uint64_t offset, void *to, size_t bytes);
