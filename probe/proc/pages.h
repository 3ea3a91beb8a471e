/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page cache for a file that is read at random places: keeps the last pages that were read, in
 * bounded memory. Nothing is mapped into memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pages;

/* Makes a cache of at most `count` pages of 4 KiB; `count` is a power of two. `fd` is borrowed
 * until pages_free(). Returns 0, or -ENOMEM. The caller owns *ret. */
int pages_new(struct pages **ret, int fd, size_t count);
void pages_free(struct pages *pages);

/* Returns the file's bytes from `offset` to the end of their page: at least one, *bytes says how
 * many. They are valid until the next call. NULL: the file ends before, or can't be read. */
const uint8_t *pages_at(struct pages *pages, uint64_t offset, size_t *bytes);

/* Reads `bytes` bytes. Returns 0, or -EIO if not all of them can be read. */
int pages_read(struct pages *pages, uint64_t offset, void *to, size_t bytes);
