// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reader for the tables that libjvm has for the serviceability agent. A table is an array of
 * entries; libjvm tells the stride, and the offsets of the members in an entry. The first entry
 * without a name ends the table.
 *
 * Source: OpenJDK's src/hotspot/share/runtime/vmStructs.hpp.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "java/vm/hotspot_state.h"

#define ENTRIES_MAX 16384 /* JDK 17 has 1,600 */
#define ENTRY_MAX   256	  /* bytes */
#define TEXT_MAX    64	  /* no wanted name is longer */
#define MEMBERS_MAX 6

/* A table: its symbols, and the function that takes an entry. */
struct listed_table {
	enum hotspot_symbol table, stride;
	enum hotspot_symbol members[MEMBERS_MAX]; /* the first is the name; 0 ends the table */
	size_t count;
	int (*take)(struct vm_memory *memory, const uint64_t *values, struct vm_tables *tables);
};

/* Reads a text; a NULL address gives an empty text. */
static int read_text(struct vm_memory *memory, uint64_t address, char *to)
{
	to[0] = '\0';
	return address ? vm_text(memory, address, to, TEXT_MAX) : 0;
}

enum { STRUCT_TYPE, STRUCT_FIELD, STRUCT_STRING, STRUCT_IS_STATIC, STRUCT_OFFSET, STRUCT_ADDRESS };

static int take_struct(struct vm_memory *memory, const uint64_t *values, struct vm_tables *tables)
{
	char type[TEXT_MAX], field[TEXT_MAX], type_string[TEXT_MAX];
	bool is_static = (uint32_t)values[STRUCT_IS_STATIC] != 0;
	int r = read_text(memory, values[STRUCT_TYPE], type);

	if (r < 0 || !vm_is_type_wanted(type))
		return r;
	r = read_text(memory, values[STRUCT_FIELD], field);
	if (r == 0)
		r = read_text(memory, values[STRUCT_STRING], type_string);
	if (r == 0)
		vm_take_field(tables, type, field, type_string, is_static,
			      values[is_static ? STRUCT_ADDRESS : STRUCT_OFFSET]);
	return r;
}

static int take_type(struct vm_memory *memory, const uint64_t *values, struct vm_tables *tables)
{
	char type[TEXT_MAX];
	int r = read_text(memory, values[0], type);

	if (r == 0)
		vm_take_size(tables, type, values[1]);
	return r;
}

static int take_constant(struct vm_memory *memory, const uint64_t *values, struct vm_tables *tables)
{
	char name[TEXT_MAX];
	int r = read_text(memory, values[0], name);

	if (r == 0)
		vm_take_constant(tables, name, (int32_t)values[1]);
	return r;
}

static const struct listed_table listings[] = {
	{HOTSPOT_STRUCTS,
	 HOTSPOT_STRUCT_STRIDE,
	 {[STRUCT_TYPE] = HOTSPOT_STRUCT_TYPE_NAME,
	  [STRUCT_FIELD] = HOTSPOT_STRUCT_FIELD_NAME,
	  [STRUCT_STRING] = HOTSPOT_STRUCT_TYPE_STRING,
	  [STRUCT_IS_STATIC] = HOTSPOT_STRUCT_IS_STATIC,
	  [STRUCT_OFFSET] = HOTSPOT_STRUCT_OFFSET,
	  [STRUCT_ADDRESS] = HOTSPOT_STRUCT_ADDRESS},
	 6,
	 take_struct},
	{HOTSPOT_TYPES, HOTSPOT_TYPE_STRIDE, {HOTSPOT_TYPE_NAME, HOTSPOT_TYPE_SIZE}, 2, take_type},
	{HOTSPOT_INT_CONSTANTS,
	 HOTSPOT_INT_STRIDE,
	 {HOTSPOT_INT_NAME, HOTSPOT_INT_VALUE},
	 2,
	 take_constant},
};

/* Where a table is in a process. */
struct table_place {
	uint64_t first, stride;
	uint64_t offsets[MEMBERS_MAX];
};

static int find_table(struct vm_memory *memory, const struct hotspot_file *file, uint64_t bias,
		      const struct listed_table *listing, struct table_place *place)
{
	int r = vm_word(memory, file->symbols[listing->table] + bias, &place->first);

	if (r == 0)
		r = vm_word(memory, file->symbols[listing->stride] + bias, &place->stride);
	if (r < 0)
		return r;
	if (!place->first || !place->stride)
		return -EAGAIN; /* the library is not relocated, or not initialized yet */
	if (place->stride < sizeof(uint64_t) || place->stride > ENTRY_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < listing->count; i++) {
		r = vm_word(memory, file->symbols[listing->members[i]] + bias, &place->offsets[i]);
		if (r < 0)
			return r;
		if (place->offsets[i] > place->stride - sizeof(uint32_t))
			return -EBADMSG;
	}
	return 0;
}

/* Reads an entry's members as words; of an int at the entry's end only the lower half is used. */
static int read_entry(struct vm_memory *memory, const struct table_place *place, size_t number,
		      size_t count, uint64_t *values)
{
	unsigned char entry[ENTRY_MAX + sizeof(uint64_t)] = {0};
	int r = vm_read(memory, place->first + number * place->stride, entry, place->stride);

	for (size_t i = 0; i < count; i++)
		memcpy(&values[i], entry + place->offsets[i], sizeof(values[i]));
	return r;
}

static int read_all(struct vm_memory *memory, const struct table_place *place,
		    const struct listed_table *listing, struct vm_tables *tables)
{
	uint64_t values[MEMBERS_MAX] = {0};

	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		int r = read_entry(memory, place, i, listing->count, values);

		if (r == 0 && !values[0])
			return i ? 0 : -EAGAIN;
		if (r == 0)
			r = listing->take(memory, values, tables);
		if (r < 0)
			return r;
	}
	return -EBADMSG;
}

int vm_tables(struct vm_memory *memory, const struct hotspot_file *file, uint64_t bias,
	      struct vm_tables *tables)
{
	*tables = (struct vm_tables){0};
	for (size_t i = 0; i < ARRAY_SIZE(listings); i++) {
		struct table_place place;
		int r = find_table(memory, file, bias, &listings[i], &place);

		if (r == 0)
			r = read_all(memory, &place, &listings[i], tables);
		if (r < 0)
			return r;
	}
	return 0;
}
