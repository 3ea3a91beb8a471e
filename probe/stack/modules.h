/* SPDX-License-Identifier: GPL-2.0-only */
/* The distinct files with code of a tree's frames: each once, known by a number from 1. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/module.h"

struct intern;
struct modules;

/* `texts` is borrowed. -ENOMEM */
int modules_new(struct modules **ret, struct intern *texts, size_t max);
void modules_free(struct modules *modules);

/* The module's number. -ENOSPC at a bound, -ENOMEM. */
int64_t modules_add(struct modules *modules, const struct module *module);

/* Valid until modules_free(); a NUL follows its path. */
const struct module *modules_get(const struct modules *modules, uint32_t number);
