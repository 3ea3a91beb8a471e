/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of interned strings: keeps each distinct byte string once and gives it a number, from 0.
 * Names may hold any bytes; a NUL follows each for convenience. Names are never removed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct intern;

/* Makes an empty table. `max_bytes` bounds the sum of all names, NULs included. Returns 0, or
 * -ENOMEM. The caller owns *ret. */
int intern_new(struct intern **ret, size_t max_bytes);
void intern_free(struct intern *intern);

/* Adds a copy of `name` if it is new. Returns the name's number, -ENOSPC at the maximum, or
 * -ENOMEM. */
int64_t intern_add(struct intern *intern, const char *name, size_t len);

/* Returns a name's number, or -ENOENT. */
int64_t intern_find(const struct intern *intern, const char *name, size_t len);

/* Returns the number of names: these are numbered from 0 to that number minus 1. */
size_t intern_count(const struct intern *intern);

/* Returns the name with the number `id`, and its length in *len (may be NULL). The name is borrowed
 * until intern_free(). */
const char *intern_get(const struct intern *intern, uint32_t id, size_t *len);
