/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder for UNSIGNED5, HotSpot's numbers of one to five bytes. A byte from 192 on has six bits,
 * and another byte follows; the first byte below 192, or the fifth byte, ends the number. From JDK
 * 20 on no byte is zero: each stands for one less (`base` is 1; before it is 0).
 *
 * Source: the tables of JDK 17 and 25 as they lie in their processes, and UNSIGNED5 of Pack200
 * (JSR 200).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNSIGNED5_BYTES_MAX 5

struct unsigned5 {
	const uint8_t *data;
	size_t bytes, at;
	uint8_t base;
	bool wrong; /* the bytes ended in a number, or one is below `base`; then all reads are 0 */
};

/* Returns `base` for the VM's feature release. */
static inline uint8_t unsigned5_base(uint32_t version)
{
	return version >= 20;
}

static inline uint32_t unsigned5_next(struct unsigned5 *stream)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < UNSIGNED5_BYTES_MAX; i++) {
		if (stream->wrong || stream->at >= stream->bytes ||
		    stream->data[stream->at] < stream->base) {
			stream->wrong = true;
			return 0;
		}
		uint8_t byte = stream->data[stream->at++];
		value += (uint32_t)(byte - stream->base) << (6 * i);
		if (byte < 192)
			break;
	}
	return value;
}

/* Reads a number with the sign in the lowest bit. */
static inline int32_t unsigned5_next_signed(struct unsigned5 *stream)
{
	uint32_t value = unsigned5_next(stream);

	return (int32_t)(value >> 1 ^ (0U - (value & 1)));
}
