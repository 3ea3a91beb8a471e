// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#define FREE	0
#define DROPPED 1

static size_t place_of(const struct table *table, uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 24) & (table->room - 1);
}

struct table_slot *table_find(const struct table *table, uint64_t key)
{
	if (!table->room || key <= DROPPED)
		return NULL;
	for (size_t i = place_of(table, key); table->slots[i].key != FREE;
	     i = (i + 1) & (table->room - 1)) {
		if (table->slots[i].key == key)
			return &table->slots[i];
	}
	return NULL;
}

static void put_new(struct table *table, uint64_t key, uint64_t value)
{
	size_t i = place_of(table, key);

	while (table->slots[i].key != FREE)
		i = (i + 1) & (table->room - 1);
	table->slots[i] = (struct table_slot){key, value};
	table->used++;
	table->count++;
}

static bool rebuild(struct table *table)
{
	struct table next = {.room = 1024};

	while (next.room < 4 * table->count)
		next.room *= 2;
	if (next.room > TABLE_MAX)
		return false;
	next.slots = pages_take(next.room * sizeof(*next.slots));
	if (!next.slots)
		return false;
	for (size_t i = 0; i < table->room; i++) {
		if (table->slots[i].key > DROPPED)
			put_new(&next, table->slots[i].key, table->slots[i].value);
	}
	table_free(table);
	*table = next;
	return true;
}

bool table_put(struct table *table, uint64_t key, uint64_t value)
{
	struct table_slot *slot = table_find(table, key);

	if (key <= DROPPED)
		return false;
	if (slot) {
		slot->value = value;
		return true;
	}
	if (2 * (table->used + 1) > table->room && !rebuild(table))
		return false;
	put_new(table, key, value);
	return true;
}

void table_drop(struct table *table, struct table_slot *slot)
{
	*slot = (struct table_slot){.key = DROPPED};
	table->count--;
}

void table_free(struct table *table)
{
	pages_give(table->slots, table->room * sizeof(*table->slots));
	*table = (struct table){0};
}
