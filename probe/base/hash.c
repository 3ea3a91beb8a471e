// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/hash.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Multiply and fold, as wyhash and its kin do it: two 64-bit words in, one well mixed word out. */
static uint64_t fold_words(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(uint64_t seed, const void *data, size_t bytes)
{
	static const uint64_t k0 = 0x9e3779b97f4a7c15, k1 = 0xbf58476d1ce4e5b9; /* splitmix64 */
	const unsigned char *p = data;
	uint64_t h = fold_words(seed ^ k0, (uint64_t)bytes ^ k1);

	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		h = fold_words(h ^ word ^ seed, k0 ^ h);
	}
	if (bytes) {
		uint64_t word = 0;

		memcpy(&word, p, bytes);
		h = fold_words(h ^ word ^ seed, k1 ^ h);
	}
	return h ^ (h >> 32);
}

uint64_t hash_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		seed = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15 + (uint64_t)now.tv_sec;
	}
	return seed;
}
