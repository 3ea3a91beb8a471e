/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounded reader for the number formats of DWARF. A read behind the end gives 0 and sets `failed`;
 * from then on every read gives 0.
 *
 * Source: DWARF 5, 7.6 (LEB128); LSB 5.0 core, 10.5 (encoded pointers).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dwarf_reader {
	const uint8_t *at, *end;
	bool failed;
};

/* The bases that an encoded pointer may be relative to. */
struct dwarf_bases {
	const uint8_t *section;	  /* the section's bytes */
	uint64_t section_address; /* the address of the first of these bytes, as linked */
	uint64_t text, data;	  /* the addresses of .text and .got */
};

/* DW_EH_PE_…: a pointer's encoding, which is its form and its base. */
enum {
	POINTER_WORD = 0x00,
	POINTER_ULEB = 0x01,
	POINTER_U16 = 0x02,
	POINTER_U32 = 0x03,
	POINTER_U64 = 0x04,
	POINTER_SLEB = 0x09,
	POINTER_S16 = 0x0a,
	POINTER_S32 = 0x0b,
	POINTER_S64 = 0x0c,
	POINTER_FORM = 0x0f,
	POINTER_HERE = 0x10,
	POINTER_TEXT = 0x20,
	POINTER_DATA = 0x30,
	POINTER_BASE = 0x70,
	POINTER_INDIRECT = 0x80,
};

static inline size_t dwarf_left(const struct dwarf_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

static inline void dwarf_fail(struct dwarf_reader *reader)
{
	reader->failed = true;
	reader->at = reader->end;
}

/* Reads a number of up to 8 bytes, little endian as this program's own numbers are. */
static inline uint64_t dwarf_number(struct dwarf_reader *reader, size_t bytes)
{
	uint64_t value = 0;

	if (dwarf_left(reader) < bytes) {
		dwarf_fail(reader);
		return 0;
	}
	memcpy(&value, reader->at, bytes);
	reader->at += bytes;
	return value;
}

static inline uint8_t dwarf_u8(struct dwarf_reader *reader)
{
	return (uint8_t)dwarf_number(reader, 1);
}

static inline uint16_t dwarf_u16(struct dwarf_reader *reader)
{
	return (uint16_t)dwarf_number(reader, 2);
}

static inline uint32_t dwarf_u32(struct dwarf_reader *reader)
{
	return (uint32_t)dwarf_number(reader, 4);
}

static inline uint64_t dwarf_u64(struct dwarf_reader *reader)
{
	return dwarf_number(reader, 8);
}

/* Reads the bits of an LEB128 number of at most 10 bytes; bits above the 64th are dropped. *shift
 * is the number of bits that were read, *last the last byte. */
static inline uint64_t dwarf_leb(struct dwarf_reader *reader, unsigned *shift, uint8_t *last)
{
	uint64_t value = 0;

	*shift = 0;
	*last = 0;
	while (reader->at < reader->end && *shift < 70) {
		uint8_t byte = *reader->at++;

		if (*shift < 64)
			value |= (uint64_t)(byte & 0x7f) << *shift;
		*shift += 7;
		*last = byte;
		if (!(byte & 0x80))
			return value;
	}
	dwarf_fail(reader);
	return 0;
}

static inline uint64_t dwarf_uleb(struct dwarf_reader *reader)
{
	unsigned shift;
	uint8_t last;

	if (reader->at < reader->end && *reader->at < 0x80)
		return *reader->at++;
	return dwarf_leb(reader, &shift, &last);
}

static inline int64_t dwarf_sleb(struct dwarf_reader *reader)
{
	unsigned shift;
	uint8_t last;
	uint64_t value = dwarf_leb(reader, &shift, &last);

	if (shift < 64 && (last & 0x40))
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

static inline void dwarf_skip(struct dwarf_reader *reader, uint64_t bytes)
{
	if (dwarf_left(reader) < bytes)
		dwarf_fail(reader);
	else
		reader->at += bytes;
}

static inline uint64_t dwarf_form(struct dwarf_reader *reader, uint8_t encoding)
{
	switch (encoding & POINTER_FORM) {
	case POINTER_WORD:
	case POINTER_U64:
	case POINTER_S64:
		return dwarf_u64(reader);
	case POINTER_ULEB:
		return dwarf_uleb(reader);
	case POINTER_SLEB:
		return (uint64_t)dwarf_sleb(reader);
	case POINTER_U16:
		return dwarf_u16(reader);
	case POINTER_S16:
		return (uint64_t)(int64_t)(int16_t)dwarf_u16(reader);
	case POINTER_U32:
		return dwarf_u32(reader);
	case POINTER_S32:
		return (uint64_t)(int64_t)(int32_t)dwarf_u32(reader);
	default:
		dwarf_fail(reader);
		return 0;
	}
}

/* Reads an encoded pointer of a 64-bit file. An indirect pointer fails: it leads out of the
 * section. */
static inline uint64_t dwarf_pointer(struct dwarf_reader *reader, uint8_t encoding,
				     const struct dwarf_bases *bases)
{
	uint64_t base = 0;

	switch (encoding & POINTER_BASE) {
	case 0:
		break;
	case POINTER_HERE:
		base = bases->section_address + (uint64_t)(reader->at - bases->section);
		break;
	case POINTER_TEXT:
		base = bases->text;
		break;
	case POINTER_DATA:
		base = bases->data;
		break;
	default: /* relative to the function's start, or aligned: not used in CFI */
		dwarf_fail(reader);
	}
	if (encoding & POINTER_INDIRECT)
		dwarf_fail(reader);
	return base + dwarf_form(reader, encoding);
}
