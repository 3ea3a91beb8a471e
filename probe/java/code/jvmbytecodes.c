// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/code/jvmbytecodes.h"

#include "base/cleanup.h"

#define IINC	     132
#define TABLESWITCH  170
#define LOOKUPSWITCH 171
#define WIDE	     196

/* The lengths of bytecodes, from the previous entry's `to` on. */
static const struct {
	uint8_t to;	/* exclusive */
	uint8_t length; /* 0: a call, or a length of its own */
} lengths[] = {
	{16, 1},  {17, 2},  {18, 3},  {19, 2},	{21, 3},  {26, 2},  {54, 1},  {59, 2},	{132, 1},
	{133, 3}, {153, 1}, {169, 3}, {170, 2}, {172, 0}, {178, 1}, {182, 3}, {187, 0}, /* calls */
	{188, 3}, {189, 2}, {190, 3}, {192, 1}, {194, 3}, {196, 1}, {197, 0}, {198, 4}, {200, 3},
	{202, 5}, {203, 0}, /* a breakpoint: anything may be there */
};

/* The VM's own bytecodes, from JDK 9 on, and those of the specification that they replace. */
static const struct {
	uint8_t to;
	uint8_t original;
} rewritten[] = {
	{211, 180 /* getfield */},
	{220, 181 /* putfield */},
	{224, 42 /* aload_0 */},
	{227, 21 /* iload */},
	{228, 182 /* invokevirtual */},
	{230, LOOKUPSWITCH},
	{231, 18 /* ldc */},
	{232, 19 /* ldc_w */},
	{233, 177 /* return */},
	{234, 182 /* invokehandle */},
	{235, 180},
	{236, 181},
	{237, 42},
	{238, 21},
};

#define VERSION_WITH_NUMBERS 9

static uint8_t original_of(uint8_t code, uint32_t version)
{
	if (code < 203 || version < VERSION_WITH_NUMBERS)
		return code;
	for (size_t i = 0; i < ARRAY_SIZE(rewritten); i++)
		if (code < rewritten[i].to)
			return rewritten[i].original;
	return code;
}

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Returns the length of a switch; 0 if it reaches behind the end of the code. */
static size_t switch_length(const uint8_t *code, size_t at, size_t bytes, uint8_t which)
{
	size_t table = (at + 4) & ~(size_t)3; /* aligned from the method's begin on */
	uint64_t entries, length;

	if (bytes < 12 || table > bytes - 12)
		return 0;
	if (which == LOOKUPSWITCH) {
		entries = big_endian(code + table + 4);
		length = table - at + 8 + 8 * entries;
	} else {
		entries = big_endian(code + table + 8) - big_endian(code + table + 4) + 1ULL;
		length = table - at + 12 + 4 * entries;
	}
	return length <= bytes - at ? (size_t)length : 0;
}

/* Returns the length of the bytecode at `at`; 0 if it is a call or unknown. */
static size_t length_at(const uint8_t *code, size_t at, size_t bytes, uint32_t version)
{
	uint8_t which = original_of(code[at], version);

	if (which == TABLESWITCH || which == LOOKUPSWITCH)
		return switch_length(code, at, bytes, which);
	if (which == WIDE)
		return at + 1 < bytes && code[at + 1] == IINC ? 6 : 4;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
		if (which < lengths[i].to)
			return lengths[i].length;
	return 0;
}

bool jvmbytecodes_call_nothing(const uint8_t *code, size_t bytes, uint32_t version)
{
	size_t at = 0;

	while (at < bytes) {
		size_t length = length_at(code, at, bytes, version);

		if (!length)
			return false;
		at += length;
	}
	return bytes > 0 && at == bytes;
}
