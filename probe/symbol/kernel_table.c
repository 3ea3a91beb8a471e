// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * During the reading each function is an entry, and its name a code of words. Then the entries are
 * sorted and become one list, in blocks of 32. In the list a function is
 *
 *	| distance from the function before (ULEB128; not for a block's first) | padding (1 byte) |
 *	| code of the name |
 *
 * Since Linux 6.2 nearly every function of x86 has its padding listed right before it as a symbol
 * of its own, `__pfx_` and the function's name. Both symbols become one entry. 120,000 symbols make
 * 0.9 MB.
 */
#include "symbol/kernel_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/intern.h"

#define PADDING	    "__pfx_"
#define PADDING_MAX UINT8_MAX
#define ENTRIES_MAX 4000000
#define BLOCK	    32 /* functions, or more: one address's functions are in one block */

struct kernel_block {
	uint64_t address; /* of the block's first function */
	size_t at;	  /* the block's offset in the list */
};

struct kernel_entry {
	uint64_t address; /* of the function */
	uint32_t name;	  /* offset of the name's code in `codes` */
	uint8_t padding;  /* bytes of padding before the function */
} __attribute__((packed));

struct kernel_line {
	uint64_t address;
	char *name; /* NULL: no line */
};

/* What was read so far; `held` is a line of padding, until the next line is read. */
struct kernel_reading {
	struct kernel_entry *entries;
	size_t count, capacity;
	struct buf codes;
	struct intern *words;
	struct kernel_line held;
};

static void reading_done(struct kernel_reading *reading)
{
	free(reading->entries);
	buf_done(&reading->codes);
	intern_free(reading->words);
	free(reading->held.name);
}

void kernel_table_done(struct kernel_table *table)
{
	free(table->blocks);
	buf_done(&table->list);
	kernel_words_done(&table->words);
}

int kernel_table_parse_line(char *line, uint64_t *address, const char **name)
{
	char *end;

	*address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return -EINVAL;
	char type = (char)tolower((unsigned char)end[1]);
	*name = end + 3;
	end += 3;
	end[strcspn(end, " \t\n")] = '\0';
	return type == 't' || type == 'w';
}

static int add_entry(struct kernel_reading *reading, uint64_t address, const char *name,
		     uint8_t padding)
{
	if (reading->count == ENTRIES_MAX)
		return -EFBIG;
	if (array_grow(reading->entries, reading->capacity, reading->count + 1, 4096) < 0)
		return -ENOMEM;
	reading->entries[reading->count++] =
		(struct kernel_entry){address, (uint32_t)reading->codes.len, padding};
	return kernel_words_encode(reading->words, &reading->codes, name);
}

/* Returns the bytes of padding if `line` is the padding of the function `name`; else 0. */
static uint8_t padding_of(const struct kernel_line *line, uint64_t address, const char *name)
{
	if (!line->name || strcmp(line->name + strlen(PADDING), name) != 0 ||
	    address - line->address > PADDING_MAX)
		return 0;
	return (uint8_t)(address - line->address);
}

/* Keeps a line of padding, which is added with the next line, or alone. */
static int hold_padding(struct kernel_line *line, uint64_t address, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(line->name);
	*line = (struct kernel_line){address, copy};
	return 0;
}

static int take_line(struct kernel_reading *reading, uint64_t address, const char *name)
{
	struct kernel_line *held = &reading->held;
	uint8_t padding = padding_of(held, address, name);
	int r = held->name && !padding ? add_entry(reading, held->address, held->name, 0) : 0;

	if (r < 0)
		return r;
	if (strncmp(name, PADDING, strlen(PADDING)) == 0)
		return hold_padding(held, address, name);
	free(held->name);
	held->name = NULL;
	return add_entry(reading, address, name, padding);
}

static int read_lines(struct kernel_reading *reading, FILE *file)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes = 0;
	bool hidden = true;

	while (getline(&text, &bytes, file) > 0) {
		uint64_t address;
		const char *name;

		if (kernel_table_parse_line(text, &address, &name) != 1 || !address)
			continue;
		hidden = false;
		int r = take_line(reading, address, name);
		if (r < 0)
			return r;
	}
	if (hidden)
		return -EACCES;
	const struct kernel_line *held = &reading->held;
	return held->name ? add_entry(reading, held->address, held->name, 0) : 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct kernel_entry *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

/* Returns whether a block begins with entry `i`, which is `behind` entries behind the begin of the
 * last block. */
static bool begins_block(const struct kernel_entry *entries, size_t i, size_t behind)
{
	return i == 0 || (behind >= BLOCK && entries[i].address != entries[i - 1].address);
}

static int pack_entries(struct kernel_table *table, const struct kernel_reading *reading)
{
	const struct kernel_entry *entries = reading->entries;
	struct buf *list = &table->list;

	table->blocks = calloc(reading->count / BLOCK + 1, sizeof(*table->blocks));
	if (!table->blocks)
		return -ENOMEM;
	for (size_t i = 0, first = 0; i < reading->count; i++) {
		const char *code = reading->codes.data + entries[i].name;

		if (begins_block(entries, i, i - first)) {
			first = i;
			table->blocks[table->count++] =
				(struct kernel_block){entries[i].address, list->len};
		} else {
			kernel_words_number(list, entries[i].address - entries[i - 1].address);
		}
		buf_char(list, (char)entries[i].padding);
		buf_add(list, code, strlen(code) + 1);
	}
	return buf_error(list);
}

/* Gives back memory that was reserved for growing. */
static void trim_list(struct buf *list)
{
	char *smaller = realloc(list->data, list->len);

	if (smaller) {
		list->data = smaller;
		list->capacity = list->len;
	}
}

int kernel_table_read(struct kernel_table *table, FILE *file)
{
	_cleanup_(reading_done) struct kernel_reading reading = {.codes = {.max = table->list.max}};
	int r = intern_new(&reading.words, table->list.max);

	if (r == 0)
		r = read_lines(&reading, file);
	if (r < 0)
		return r;
	qsort(reading.entries, reading.count, sizeof(*reading.entries), compare_entries);
	r = pack_entries(table, &reading);
	if (r == 0)
		r = kernel_words_keep(&table->words, reading.words);
	if (r == 0)
		trim_list(&table->list);
	return r;
}

/* Iterator over the list. */
struct kernel_cursor {
	const struct kernel_table *table;
	size_t block;	/* number of the next block to begin */
	const char *at; /* the next function in the list */
	uint64_t address;
	uint8_t padding;
	const char *code;
};

static bool next_function(struct kernel_cursor *cursor)
{
	const struct kernel_table *table = cursor->table;
	size_t at = (size_t)(cursor->at - table->list.data);

	if (at == table->list.len)
		return false;
	if (cursor->block < table->count && table->blocks[cursor->block].at == at)
		cursor->address = table->blocks[cursor->block++].address;
	else
		cursor->address += kernel_words_read(&cursor->at);
	cursor->padding = (uint8_t)*cursor->at++;
	cursor->code = cursor->at;
	cursor->at += strlen(cursor->at) + 1;
	return true;
}

/* Returns a cursor before the last block that begins at or before the address, or before the first
 * block. */
static struct kernel_cursor cursor_before(const struct kernel_table *table, uint64_t address)
{
	size_t behind = PARTITION_POINT(at, table->count, table->blocks[at].address <= address);
	size_t block = behind ? behind - 1 : 0;

	return (struct kernel_cursor){
		.table = table,
		.block = block,
		.at = table->count ? table->list.data + table->blocks[block].at : NULL,
	};
}

static bool tell_function(const struct kernel_cursor *cursor, bool padding,
			  struct kernel_function *ret)
{
	ret->address = cursor->address - (padding ? cursor->padding : 0);
	ret->prefix = padding ? PADDING : "";
	kernel_words_decode(&cursor->table->words, cursor->code, ret->name, sizeof(ret->name));
	return true;
}

bool kernel_table_find(const struct kernel_table *table, uint64_t address,
		       struct kernel_function *ret)
{
	struct kernel_cursor cursor = cursor_before(table, address), found = {0};
	bool is_more = table->count && next_function(&cursor);

	for (; is_more && cursor.address <= address; is_more = next_function(&cursor)) {
		if (!found.table || cursor.address != found.address)
			found = cursor;
	}
	/* The first function at the next address whose padding holds the address. */
	for (uint64_t behind = cursor.address; is_more && cursor.address == behind;
	     is_more = next_function(&cursor)) {
		if (behind - address <= cursor.padding)
			return tell_function(&cursor, true, ret);
	}
	return found.table && tell_function(&found, false, ret);
}

uint64_t kernel_table_address(const struct kernel_table *table, const char *name)
{
	struct kernel_cursor cursor = cursor_before(table, 0);
	struct kernel_function function;

	while (table->count && next_function(&cursor)) {
		tell_function(&cursor, false, &function);
		if (strcmp(function.name, name) == 0)
			return function.address;
	}
	return 0;
}

/* Returns the number of the name that a function has, or that of the NULL behind them. */
static size_t which_name(const char *const *names, const char *name)
{
	size_t i = 0;

	for (; names[i]; i++) {
		size_t len = strlen(names[i]);

		if (strncmp(name, names[i], len) == 0 && (!name[len] || name[len] == '.'))
			break;
	}
	return i;
}

/* A function ends where the next symbol begins: the kernel lists its own symbols in their order. */
static void end_range(struct kernel_range *range, uint64_t address)
{
	if (!range->to && address > range->from)
		range->to = address;
}

int kernel_table_ranges(FILE *file, const char *const *names, struct kernel_range *ranges,
			size_t max)
{
	_cleanup_free_ char *line = NULL;
	size_t bytes = 0, count = 0;
	bool hidden = true;

	while (getline(&line, &bytes, file) > 0) {
		uint64_t address;
		const char *name;
		int r = kernel_table_parse_line(line, &address, &name);
		size_t which;

		hidden = hidden && (r < 0 || !address);
		if (count && r >= 0)
			end_range(&ranges[count - 1], address);
		which = r > 0 ? which_name(names, name) : 0;
		if (r <= 0 || !names[which])
			continue;
		if (count && !ranges[count - 1].to) /* another name of it, or nothing behind it */
			count--;
		if (count < max)
			ranges[count++] = (struct kernel_range){.from = address, .name = which};
	}
	if (count && !ranges[count - 1].to)
		count--;
	return hidden ? -EACCES : (int)count;
}
