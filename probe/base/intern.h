/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interned names: each distinct byte string once, known by a number from 0. Names may hold any
 * bytes but are followed by a NUL for convenience. Bounded in bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct intern;

/* -ENOMEM */
int intern_new(struct intern **ret, size_t max_bytes);
void intern_free(struct intern *intern);

/* The name's number, or -ENOSPC at the maximum, -ENOMEM. */
int64_t intern_add(struct intern *intern, const char *name, size_t len);

/* How many there are: their numbers are below. */
size_t intern_count(const struct intern *intern);

/* Borrowed, valid until intern_free(). */
const char *intern_get(const struct intern *intern, uint32_t id, size_t *len);
