/* SPDX-License-Identifier: GPL-2.0-only */
/* One seeded 64-bit hash of bytes for everything that is kept in memory (never written out). */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(uint64_t seed, const void *data, size_t bytes);

/* A seed from the kernel's random numbers. */
uint64_t hash_seed(void);
