/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash of 64-bit words, the same in the kernel and in the daemon. */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

/* Returns `hash` with `word` mixed in, as in MurmurHash3 by Austin Appleby (public domain
 * algorithm). */
static inline __attribute__((always_inline)) uint64_t hash_word(uint64_t hash, uint64_t word)
{
	word *= 0x87c37b91114253d5ULL;
	word = word << 31 | word >> 33;
	word *= 0x4cf5ad432745937fULL;
	hash ^= word;
	hash = hash << 27 | hash >> 37;
	return hash * 5 + 0x52dce729;
}
