// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/pystrings.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

#define PAGE_BYTES  4096 /* the smallest page size */
#define GUESS_BYTES 256	 /* most strings are shorter */
#define LENGTH_MAX  (1ULL << 40)
#define REPLACEMENT 0xfffd
#define ELLIPSIS    0x2026

/* The characters of a str. */
struct characters {
	uint64_t address;
	uint64_t length;   /* characters */
	unsigned int kind; /* bytes of a character */
};

long pystring_begin(const struct process_memory *memory, uint64_t address, void *to, size_t least,
		    size_t most)
{
	size_t bytes = memory->held ? memory->held(memory->arg, address) : 0;

	if (bytes < least)
		bytes = PAGE_BYTES - address % PAGE_BYTES;
	if (bytes > most)
		bytes = most;
	if (bytes < least)
		bytes = least;
	int r = memory->read(memory->arg, address, to, bytes);
	return r < 0 ? r : (long)bytes;
}

static uint64_t word_at(const uint8_t *from, size_t at)
{
	uint64_t word;

	memcpy(&word, from + at, sizeof(word));
	return word;
}

static uint32_t character_at(const uint8_t *data, size_t i, unsigned int kind)
{
	uint16_t two;
	uint32_t four;

	if (kind == 1)
		return data[i];
	if (kind == 2) {
		memcpy(&two, data + 2 * i, sizeof(two));
		return two;
	}
	memcpy(&four, data + 4 * i, sizeof(four));
	return four;
}

/* Decodes the first `count` characters of `length`. */
static void decode_characters(struct pystring *string, const uint8_t *data, size_t count,
			      uint64_t length, unsigned int kind)
{
	char utf8[UTF8_MAX];
	size_t room = 0, i; /* room: the longest text behind which an ellipsis still fits */

	string->len = 0;
	for (i = 0; i < count; i++) {
		uint32_t c = character_at(data, i, kind);
		size_t bytes = utf8_put(utf8, utf8_is_character(c) ? c : REPLACEMENT);

		if (string->len + bytes > sizeof(string->text))
			break;
		memcpy(string->text + string->len, utf8, bytes);
		string->len += bytes;
		if (string->len + 3 <= sizeof(string->text))
			room = string->len;
	}
	if (i == length)
		return;
	string->len = room + utf8_put(utf8, ELLIPSIS);
	memcpy(string->text + room, utf8, string->len - room);
}

/* Parses the start of a str; for an object of a class derived from str, address is 0. */
static int find_characters(const struct python_layout *layout, uint64_t address,
			   const uint8_t *begin, struct characters *found)
{
	uint32_t state = (uint32_t)word_at(begin, layout->unicode_state);
	if (!(state >> layout->unicode_kind_shift & 7))
		state >>= layout->unicode_further_shift;
	bool compact = state >> layout->unicode_compact_shift & 1;
	bool ascii = state >> layout->unicode_ascii_shift & 1;

	found->length = word_at(begin, layout->unicode_length);
	found->kind = state >> layout->unicode_kind_shift & 7;
	if (found->kind != 1 && found->kind != 2 && found->kind != 4)
		return -EBADMSG;
	if ((ascii && found->kind != 1) || found->length > LENGTH_MAX)
		return -EBADMSG;
	found->address = 0;
	if (compact)
		found->address = address + (ascii ? layout->ascii_data : layout->compact_data);
	return 0;
}

static size_t larger_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Returns the size of a str's header, which says its form; 0: the layout makes no sense. */
static size_t header_bytes(const struct python_layout *layout)
{
	size_t bytes = larger_size(layout->unicode_length, layout->unicode_state);

	bytes = larger_size(bytes, layout->walk.unicode_hash) + sizeof(uint64_t);
	return bytes <= GUESS_BYTES ? bytes : 0;
}

int pystring_read(struct pystring *string, const struct python_layout *layout,
		  const struct process_memory *memory, uint64_t address)
{
	uint8_t begin[GUESS_BYTES];
	uint8_t data[4 * PYSTRING_BYTES_MAX];
	struct characters characters;
	size_t least = header_bytes(layout);

	if (!least)
		return -EBADMSG;
	long got = pystring_begin(memory, address, begin, least, sizeof(begin));
	if (got < 0)
		return (int)got;
	string->hash = word_at(begin, layout->walk.unicode_hash);
	int r = find_characters(layout, address, begin, &characters);
	if (r < 0)
		return r;
	if (!characters.address) /* compact_data has a pointer to the characters */
		r = memory->read(memory->arg, address + layout->compact_data, &characters.address,
				 sizeof(characters.address));
	if (r < 0)
		return r;
	size_t count = characters.length < PYSTRING_BYTES_MAX ? (size_t)characters.length
							      : PYSTRING_BYTES_MAX;
	size_t bytes = count * characters.kind;
	uint64_t at = characters.address - address; /* in `begin`? */
	if (at <= (uint64_t)got && bytes <= (uint64_t)got - at) {
		decode_characters(string, begin + at, count, characters.length, characters.kind);
		return 0;
	}
	r = memory->read(memory->arg, characters.address, data, bytes);
	if (r < 0)
		return r;
	decode_characters(string, data, count, characters.length, characters.kind);
	return 0;
}
