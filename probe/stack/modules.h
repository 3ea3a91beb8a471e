/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of distinct modules (files with code) of a tree's frames: keeps each module once and
 * gives it a number, from 1. Bounded. One thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/module.h"

struct intern;
struct modules;

/* Makes a table of at most `max` modules, which keeps its texts in `texts`, borrowed until
 * modules_free(). Returns 0, or -ENOMEM. The caller owns *ret. */
int modules_new(struct modules **ret, struct intern *texts, size_t max);
void modules_free(struct modules *modules);

/* Adds a copy of the module if it is new. Returns the module's number, -ENOSPC at a bound, or
 * -ENOMEM. */
int64_t modules_add(struct modules *modules, const struct module *module);

/* Returns a module, borrowed until modules_free(); a NUL follows its path. */
const struct module *modules_get(const struct modules *modules, uint32_t number);
