// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions lie in an array, their names in one block of text. Since 6.2 nearly each function of
 * x86 has its padding listed right before it as a symbol of its own, `__pfx_` and the function's
 * name: together they are one entry. 120,000 symbols make 2.3 MB.
 */
#include "symbol/kernel_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PADDING	    "__pfx_"
#define PADDING_MAX UINT8_MAX
#define ENTRIES_MAX 4000000

struct kernel_entry {
	uint64_t address; /* of the function */
	uint32_t name;
	uint8_t padding; /* bytes before it */
} __attribute__((packed));

struct line {
	uint64_t address;
	char *name; /* NULL: there is none */
};

static void line_done(struct line *line)
{
	free(line->name);
}

void kernel_table_done(struct kernel_table *table)
{
	free(table->entries);
	buf_done(&table->names);
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

static int add(struct kernel_table *table, uint64_t address, const char *name, uint8_t padding)
{
	if (table->count == ENTRIES_MAX)
		return -EFBIG;
	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : 4096;
		struct kernel_entry *grown = reallocarray(table->entries, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		table->entries = grown;
		table->capacity = capacity;
	}
	table->entries[table->count++] =
		(struct kernel_entry){address, (uint32_t)table->names.len, padding};
	buf_add(&table->names, name, strlen(name) + 1);
	return buf_error(&table->names);
}

/* Bytes of padding that this line is before a function; 0: it isn't. */
static uint8_t padding_of(const struct line *line, uint64_t address, const char *name)
{
	if (!line->name || strcmp(line->name + strlen(PADDING), name) != 0 ||
	    address - line->address > PADDING_MAX)
		return 0;
	return (uint8_t)(address - line->address);
}

/* It is added with the next one, or alone. */
static int hold(struct line *line, uint64_t address, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(line->name);
	*line = (struct line){address, copy};
	return 0;
}

static int take(struct kernel_table *table, struct line *held, uint64_t address, const char *name)
{
	uint8_t padding = padding_of(held, address, name);
	int r = held->name && !padding ? add(table, held->address, held->name, 0) : 0;

	if (r < 0)
		return r;
	if (strncmp(name, PADDING, strlen(PADDING)) == 0)
		return hold(held, address, name);
	free(held->name);
	held->name = NULL;
	return add(table, address, name, padding);
}

static int compare(const void *a, const void *b)
{
	const struct kernel_entry *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

/* What it doesn't need for growing any more. */
static void trim(struct kernel_table *table)
{
	struct kernel_entry *smaller =
		reallocarray(table->entries, table->count, sizeof(*table->entries));

	if (smaller) {
		table->entries = smaller;
		table->capacity = table->count;
	}
}

int kernel_table_read(struct kernel_table *table, FILE *file)
{
	_cleanup_(line_done) struct line held = {0};
	_cleanup_free_ char *text = NULL;
	size_t bytes = 0;
	bool hidden = true;

	while (getline(&text, &bytes, file) > 0) {
		uint64_t address;
		const char *name;

		if (kernel_table_parse_line(text, &address, &name) != 1 || !address)
			continue;
		hidden = false;
		int r = take(table, &held, address, name);
		if (r < 0)
			return r;
	}
	if (hidden)
		return -EACCES;
	int r = held.name ? add(table, held.address, held.name, 0) : 0;
	if (r < 0)
		return r;
	qsort(table->entries, table->count, sizeof(*table->entries), compare);
	trim(table);
	return 0;
}

/* How many begin at or before the address. */
static size_t count_until(const struct kernel_table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->entries[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first of those at one address whose padding the address lies in; NULL: there is none. */
static const struct kernel_entry *padded_by(const struct kernel_table *table, size_t first,
					    uint64_t address)
{
	const struct kernel_entry *entries = table->entries;

	for (size_t i = first; i < table->count && entries[i].address == entries[first].address;
	     i++) {
		if (entries[i].address - address <= entries[i].padding)
			return &entries[i];
	}
	return NULL;
}

bool kernel_table_find(const struct kernel_table *table, uint64_t address,
		       struct kernel_function *ret)
{
	size_t count = count_until(table, address);
	const struct kernel_entry *entry = padded_by(table, count, address);

	if (entry) {
		*ret = (struct kernel_function){entry->address - entry->padding, PADDING,
						table->names.data + entry->name};
		return true;
	}
	if (!count)
		return false;
	for (entry = &table->entries[--count]; count && entry[-1].address == entry->address;
	     count--)
		entry--;
	*ret = (struct kernel_function){entry->address, "", table->names.data + entry->name};
	return true;
}

uint64_t kernel_table_address(const struct kernel_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->names.data + table->entries[i].name, name) == 0)
			return table->entries[i].address;
	}
	return 0;
}
