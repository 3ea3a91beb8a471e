// SPDX-License-Identifier: GPL-2.0-or-later
/* Two passes. The first finds where in the strings the names stand (a name may be the end of a
 * longer string), the second finds the symbols that refer to these places. */
#include "proc/symbol_lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SYMBOLS_MAX (4u * 1024 * 1024)
#define STRINGS_MAX (512u * 1024 * 1024)
#define NAMES_MAX   (8u * 1024 * 1024) /* strings in the string table */
#define PLACES_MAX  65536	       /* a program with OpenSSL has thousands of *_free */
#define BATCH	    128
#define PIECE	    65536

/* A name's place in the strings. */
struct name_place {
	uint32_t offset;
	uint32_t name;
};

struct lookup_reading {
	int fd;
	const char *const *names;
	size_t count;
	struct name_place places[PLACES_MAX];
	size_t places_count;
	uint32_t names_seen;
	uint8_t lengths[SYMBOL_LOOKUP_MAX];
	bool is_last[256]; /* one of the names ends with this byte */
	char text[SYMBOL_NAME_MAX + PIECE];
	int (*each)(void *arg, size_t name, const Elf64_Sym *symbol);
	void *arg;
};

/* Adds the places of the names that end before the NUL at text[at]. `known` bytes before the NUL
 * are in `text`; `offset` is the NUL's in the strings. Returns 0, or -EFBIG for too many places. */
static int find_names(struct lookup_reading *reading, size_t at, size_t known, uint64_t offset)
{
	for (size_t i = 0; i < reading->count; i++) {
		const char *name = reading->names[i];
		size_t len = reading->lengths[i];

		if (len > known || name[len - 1] != reading->text[at - 1] ||
		    memcmp(reading->text + at - len, name, len) != 0)
			continue;
		if (reading->places_count == PLACES_MAX)
			return -EFBIG;
		reading->places[reading->places_count++] =
			(struct name_place){(uint32_t)(offset - len), (uint32_t)i};
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct name_place *left = a, *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

static int find_places(struct lookup_reading *reading, const struct elf_extent *strings)
{
	const size_t front = SYMBOL_NAME_MAX;

	for (uint64_t done = 0; done < strings->bytes;) {
		size_t n = strings->bytes - done < PIECE ? (size_t)(strings->bytes - done) : PIECE;
		int r = elf_pread(reading->fd, reading->text + front, n, strings->offset + done);
		const char *at = reading->text + front, *end = at + n;

		while (r == 0 && (at = memchr(at, '\0', (size_t)(end - at)))) {
			size_t in_text = (size_t)(at - reading->text);
			uint64_t offset = done + in_text - front;

			if (++reading->names_seen > NAMES_MAX)
				r = -EFBIG;
			else if (reading->is_last[(uint8_t)at[-1]])
				r = find_names(reading, in_text,
					       offset < in_text ? (size_t)offset : in_text, offset);
			at++;
		}
		if (r < 0)
			return r;
		memmove(reading->text, reading->text + n, front);
		done += n;
	}
	qsort(reading->places, reading->places_count, sizeof(struct name_place), by_offset);
	return 0;
}

/* Returns the place to which the symbol's name refers; NULL: its name is none of the names. */
static const struct name_place *place_of(const struct lookup_reading *reading,
					 const Elf64_Sym *symbol)
{
	struct name_place key = {.offset = symbol->st_name};

	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_name || !symbol->st_value)
		return NULL;
	return bsearch(&key, reading->places, reading->places_count, sizeof(key), by_offset);
}

int symbols_each(int fd, const struct elf_extent *symbols,
		 int (*each)(void *arg, const Elf64_Sym *symbol), void *arg)
{
	uint64_t total = symbols->bytes / sizeof(Elf64_Sym);
	Elf64_Sym some[BATCH];
	int r = total > SYMBOLS_MAX ? -EFBIG : 0;

	for (uint64_t at = 0; r == 0 && at < total; at += BATCH) {
		size_t n = total - at < BATCH ? (size_t)(total - at) : BATCH;

		r = elf_pread(fd, some, n * sizeof(*some), symbols->offset + at * sizeof(*some));
		for (size_t i = 0; r == 0 && i < n; i++)
			r = each(arg, &some[i]);
	}
	return r;
}

static int meet_symbol(void *arg, const Elf64_Sym *symbol)
{
	const struct lookup_reading *reading = arg;
	const struct name_place *place = place_of(reading, symbol);

	return place ? reading->each(reading->arg, place->name, symbol) : 0;
}

int symbol_lookup(int fd, const struct elf_symbols *from, const char *const *names, size_t count,
		  int (*each)(void *arg, size_t name, const Elf64_Sym *symbol), void *arg)
{
	uint64_t total = from->symbols.bytes / sizeof(Elf64_Sym);

	if (!total)
		return 0;
	if (total > SYMBOLS_MAX || from->strings.bytes > STRINGS_MAX || count > SYMBOL_LOOKUP_MAX)
		return -EFBIG;
	_cleanup_free_ struct lookup_reading *reading = calloc(1, sizeof(*reading));
	if (!reading)
		return -ENOMEM;
	reading->fd = fd;
	reading->names = names;
	reading->count = count;
	for (size_t i = 0; i < count; i++) {
		reading->lengths[i] = (uint8_t)strlen(names[i]);
		reading->is_last[(uint8_t)names[i][reading->lengths[i] - 1]] = true;
	}
	int r = find_places(reading, &from->strings);
	if (r < 0 || !reading->places_count)
		return r;
	reading->each = each;
	reading->arg = arg;
	return symbols_each(fd, &from->symbols, meet_symbol, reading);
}

bool symbol_offset(const struct elf_image *image, uint64_t address, uint64_t *offset)
{
	return elf_segment_offset(image->segments, image->segments_count, address, offset);
}
