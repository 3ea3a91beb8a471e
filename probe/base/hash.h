/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A seeded 64-bit hash of bytes, for everything that is kept in memory. Hashes are never written to
 * files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(uint64_t seed, const void *data, size_t bytes);

/* Returns a seed from the kernel's random numbers, or from the time while there are none yet. */
uint64_t hash_seed(void);
