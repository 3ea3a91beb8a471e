// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/pclntab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The first word of the table, which says its format. */
#define MAGIC_1_16  0xfffffffaU
#define MAGIC_1_18  0xfffffff0U
#define MAGIC_1_20  0xfffffff1U

#define WORDS_MAX   8 /* words of the header behind the magic */
#define SEARCH_MAX  (1ULL << 30)
#define MAGICS_MAX  16 /* places with a magic that are tried */
#define TEXTS_MAX   (4U << 20)
#define TABLE_PAGES 64
#define CODE_PAGES  32
#define MAPPED	    INT32_MAX /* Go links no program that is larger */

/* The table begins with these 8 bytes, then come words of 8 bytes: */
struct magic {
	uint32_t format;
	uint8_t zero[2];
	uint8_t quantum;  /* instructions begin at multiples of this: 1 on x86-64 */
	uint8_t pointers; /* bytes of a pointer */
};

/*
 *	1.16: functions, files, names, units, files, steps, table
 *	1.18: functions, files, start of the code, names, units, files, steps, table
 *
 * The last five are distances from the header to tables without a length: each ends with the
 * section at the latest.
 *
 * The table: for each function {start, record}, and the end of the last one. Since 1.18 these are
 * 32-bit, and starts count from the start of the code; before they were addresses.
 */
struct pclntab {
	struct elf_extent extent;
	const struct elf_image *image;
	struct pages *pages; /* pages of the table and of the records */
	struct pages *steps_pages;
	struct pages *code;
	uint32_t format;
	uint32_t count;
	uint64_t text;		      /* start of the code, as linked */
	uint64_t names, steps, table; /* offsets in the file */
};

void pclntab_free(struct pclntab *table)
{
	if (!table)
		return;
	pages_free(table->pages);
	pages_free(table->steps_pages);
	pages_free(table->code);
	free(table);
}

static void table_free(struct pclntab **table)
{
	pclntab_free(*table);
}

uint32_t pclntab_count(const struct pclntab *table)
{
	return table->count;
}

struct elf_extent pclntab_names(const struct pclntab *table)
{
	return (struct elf_extent){table->names,
				   table->extent.offset + table->extent.bytes - table->names};
}

static bool is_magic(const struct magic *magic)
{
	return (magic->format == MAGIC_1_16 || magic->format == MAGIC_1_18 ||
		magic->format == MAGIC_1_20) &&
	       !magic->zero[0] && !magic->zero[1] && magic->quantum == 1 && magic->pointers == 8;
}

int pclntab_code(struct pclntab *table, uint64_t address, void *to, size_t bytes)
{
	const struct elf_image *image = table->image;

	for (size_t i = 0; i < image->segments_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t distance = address - segment->address;

		if (distance < segment->file_bytes && bytes <= segment->file_bytes - distance)
			return pages_read(table->code, segment->file_offset + distance, to, bytes);
	}
	return -EFAULT;
}

/* Reads table entry i; entry `count` is the end of the last function. */
static int table_entry(struct pclntab *table, uint32_t i, uint64_t *start, uint64_t *record)
{
	uint64_t both[2] = {0, 0};
	uint32_t narrow[2] = {0, 0};
	size_t parts = i < table->count ? 2 : 1;

	if (table->format == MAGIC_1_16) {
		if (pages_read(table->pages, table->table + i * sizeof(both), both, parts * 8) < 0)
			return -EBADMSG;
		*start = both[0];
		*record = both[1];
		return 0;
	}
	if (pages_read(table->pages, table->table + i * sizeof(narrow), narrow, parts * 4) < 0)
		return -EBADMSG;
	*start = narrow[0];
	*record = narrow[1];
	return 0;
}

/*
 * Returns whether functions begin where the table says if the code begins at `text`. Gaps between
 * functions are filled with int3 (0xcc), but not every function has a gap before it: of some dozens
 * from the middle of the table nearly all must.
 */
static bool text_fits(struct pclntab *table, uint64_t text)
{
	unsigned tried = 0, fit = 0;

	for (uint32_t i = table->count / 2; i < table->count && tried < 64; i++) {
		uint64_t start, record;
		uint8_t code[2];

		if (table_entry(table, i, &start, &record) < 0 || start == 0 ||
		    pclntab_code(table, text + start - 1, code, sizeof(code)) < 0)
			return false;
		tried++;
		fit += code[0] == 0xcc && code[1] != 0xcc;
		if (tried - fit > 12 || (tried == 4 && !fit))
			return false;
	}
	return tried >= 16 && fit * 5 >= tried * 4;
}

/*
 * Finds where the code begins. `told` is the header's word, valid until Go 1.25 and for programs
 * that are not position-independent (else a relocation fills it in). The linker's .text begins
 * there too; but if another linker made the file, C's code comes first. Functions begin at
 * multiples of 32.
 */
static bool find_text(struct pclntab *table, uint64_t told)
{
	const struct elf_image *image = table->image;
	uint32_t left = TEXTS_MAX;

	if (told && text_fits(table, told)) {
		table->text = told;
		return true;
	}
	for (size_t i = 0; i < image->segments_count; i++) {
		uint64_t from = (image->segments[i].address + 31) & ~31ULL;
		uint64_t bytes = image->segments[i].file_bytes;

		if (bytes > MAPPED || from > UINT64_MAX - bytes)
			continue;
		for (uint64_t at = from; at < from + bytes && left; at += 32, left--) {
			if (text_fits(table, at)) {
				table->text = at;
				return true;
			}
		}
	}
	return false;
}

/* Turns a distance from the header into an offset in the file; false: it lies outside the table. */
static bool find_offset(const struct pclntab *table, uint64_t distance, uint64_t *offset)
{
	*offset = table->extent.offset + distance;
	return distance < table->extent.bytes;
}

static int read_header(struct pclntab *table, const struct elf_extent *extent)
{
	uint64_t words[WORDS_MAX];
	struct magic magic;
	size_t entry;

	table->extent = *extent;
	if (extent->bytes < sizeof(magic) + sizeof(words) ||
	    pages_read(table->pages, extent->offset, &magic, sizeof(magic)) < 0 ||
	    !is_magic(&magic))
		return -ENOENT;
	if (pages_read(table->pages, extent->offset + sizeof(magic), words, sizeof(words)) < 0)
		return -EBADMSG;
	table->format = magic.format;
	bool old = table->format == MAGIC_1_16;
	const uint64_t *places = words + (old ? 2 : 3);
	entry = old ? 16 : 8;
	if (!find_offset(table, places[0], &table->names) ||
	    !find_offset(table, places[3], &table->steps) ||
	    !find_offset(table, places[4], &table->table) || words[0] == 0 ||
	    words[0] >= (extent->bytes - places[4]) / entry)
		return -EBADMSG;
	table->count = (uint32_t)words[0];
	return old || find_text(table, words[2]) ? 0 : -EBADMSG;
}

/* Returns the offset of the first magic from `at` on in data that ends at `end`; `end` if there is
 * none. */
static uint64_t find_magic(struct pclntab *table, uint64_t at, uint64_t end)
{
	struct magic magic;
	const uint8_t *from;
	size_t bytes;

	while (at < end && end - at >= sizeof(magic) &&
	       (from = pages_at(table->pages, at, &bytes)) && bytes >= sizeof(magic)) {
		for (; bytes >= sizeof(magic); from += 8, bytes -= 8, at += 8) {
			memcpy(&magic, from, sizeof(magic));
			if (is_magic(&magic))
				return at < end ? at : end;
		}
	}
	return end;
}

/* Searches the table in segments that aren't executable, at multiples of 8: for files without
 * sections, or in which another linker put the table into a section of its own. */
static int search_table(struct pclntab *table)
{
	const struct elf_image *image = table->image;
	uint64_t left = SEARCH_MAX;
	unsigned magics = 0;

	for (size_t i = 0; i < image->data_count; i++) {
		const struct elf_segment *data = &image->data[i];
		uint64_t end =
			data->file_offset + (data->file_bytes < left ? data->file_bytes : left);
		uint64_t at = (data->file_offset + 7) & ~7ULL;

		left -= end - data->file_offset;
		while ((at = find_magic(table, at, end)) < end && magics++ < MAGICS_MAX) {
			struct elf_extent rest = {at, data->file_offset + data->file_bytes - at};

			if (read_header(table, &rest) == 0)
				return 0;
			at += 8;
		}
	}
	return -ENOENT;
}

int pclntab_open(struct pclntab **ret, int fd, const struct elf_image *image)
{
	bool found = image->gopclntab.bytes != 0;

	if (image->machine != EM_X86_64 || !image->wide ||
	    (!found && image->has_sections && !image->is_go))
		return -ENOENT;
	_cleanup_(table_free) struct pclntab *table = calloc(1, sizeof(*table));
	if (!table || pages_new(&table->pages, fd, TABLE_PAGES) < 0 ||
	    pages_new(&table->steps_pages, fd, TABLE_PAGES) < 0 ||
	    pages_new(&table->code, fd, CODE_PAGES) < 0)
		return -ENOMEM;
	table->image = image;
	int r = found ? read_header(table, &image->gopclntab) : search_table(table);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(table);
	return 0;
}

/*
 * A function's record. 32-bit words:
 *	start (64-bit in 1.16), name, arguments, deferreturn, steps, files, lines, number of pcdata,
 *	unit, first line (since 1.20)
 * then bytes: kind, flags (since 1.17), none, number of funcdata.
 */
int pclntab_function(struct pclntab *table, uint32_t i, struct pclntab_function *function)
{
	uint64_t start, end, record, none;
	uint32_t words[11];

	if (i >= table->count || table_entry(table, i, &start, &record) < 0 ||
	    table_entry(table, i + 1, &end, &none) < 0)
		return -EBADMSG;
	uint64_t at = table->table + record;
	size_t first = table->format == MAGIC_1_16 ? 2 : 1;
	size_t kinds = first + (table->format == MAGIC_1_20 ? 9 : 8);
	if (record >= table->extent.bytes || start >= end || end - start > MAPPED ||
	    table->text + end < table->text ||
	    pages_read(table->pages, at, words, (kinds + 1) * sizeof(words[0])) < 0)
		return -EBADMSG;
	*function = (struct pclntab_function){
		.start = table->text + start,
		.end = table->text + end,
		.name = words[first],
		.steps = words[first + 3],
		.flags = (uint8_t)(words[kinds] >> 8),
	};
	return 0;
}

void pclntab_name(struct pclntab *table, const struct pclntab_function *function, char *name,
		  size_t bytes)
{
	size_t len = 0, part;
	const uint8_t *from;

	while (len + 1 < bytes &&
	       (from = pages_at(table->steps_pages, table->names + function->name + len, &part))) {
		if (part > bytes - 1 - len)
			part = bytes - 1 - len;
		size_t n = strnlen((const char *)from, part);
		memcpy(name + len, from, n);
		len += n;
		if (n < part)
			break;
	}
	name[len] = '\0';
}

#define NUMBER_BYTES 5

/* Reads a varint of at most 32 bits: seven bits a byte, the lowest first; bit 7: more follow. */
static int read_number(struct pclntab *table, uint64_t *at, uint32_t *number)
{
	uint64_t end = table->extent.offset + table->extent.bytes, value = 0;
	uint64_t left = *at < end ? end - *at : 0;
	size_t n = left < NUMBER_BYTES ? (size_t)left : NUMBER_BYTES, bytes = 0;
	uint8_t room[NUMBER_BYTES];
	const uint8_t *from = n ? pages_at(table->steps_pages, *at, &bytes) : NULL;

	if (bytes < n) { /* the number lies in two pages */
		if (pages_read(table->steps_pages, *at, room, n) < 0)
			return -EBADMSG;
		from = room;
	}
	for (size_t i = 0; i < n; i++) {
		value |= (uint64_t)(from[i] & 0x7f) << (7 * i);
		if (!(from[i] & 0x80)) {
			*at += i + 1;
			*number = (uint32_t)value;
			return value <= UINT32_MAX ? 0 : -EBADMSG;
		}
	}
	return -EBADMSG;
}

struct pclntab_step pclntab_steps(const struct pclntab *table,
				  const struct pclntab_function *function)
{
	return (struct pclntab_step){
		.from = function->start,
		.to = function->start,
		.delta = -1,
		.at = function->steps ? table->steps + function->steps : 0,
	};
}

/*
 * A step is a pair of numbers: the change of the value (signed: the lowest bit is the sign), and
 * how many bytes of code the new value is valid for. A change of 0 ends the steps, except in the
 * first step. Each step covers at least one byte and functions don't overlap, so there are never
 * more steps than bytes of code.
 */
int pclntab_next(struct pclntab *table, const struct pclntab_function *function,
		 struct pclntab_step *step)
{
	uint32_t change, bytes;

	if (!step->at || step->to >= function->end)
		return 0;
	if (read_number(table, &step->at, &change) < 0)
		return -EBADMSG;
	if (change == 0 && step->to != function->start)
		return 0;
	if (read_number(table, &step->at, &bytes) < 0 || bytes == 0)
		return -EBADMSG;
	step->delta += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
	step->from = step->to;
	step->to = bytes < function->end - step->from ? step->from + bytes : function->end;
	return 1;
}
