// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows made from code: where they are wanted, and when a table is built again with them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "unwind/tables_state.h"

#define GATHER_NS    (5 * NS_PER_MS)  /* from the first place that is wanted */
#define LEAST_NS     (10 * NS_PER_MS) /* between two times */
#define SPENT_MAX    (2 * NS_PER_S)   /* CPU time of a file in a minute */
#define MINUTE_NS    (60 * NS_PER_S)
#define AHEAD_MAX_NS (5 * NS_PER_S) /* CPU time of such first tables in a minute, of all files */
#define RUNS_ALL     200000	    /* of all files: 16 MiB; the last file may exceed it */

/* CPU time for functions that are near to those on a stack: at a time, and in all. */
#define NEAR_NS	    (20 * NS_PER_MS)
#define NEAR_MAX_NS (200 * NS_PER_MS)

/* ---- addresses ---- */

/* Returns the number of the first that isn't below. */
static size_t place_of(const struct addresses *addresses, uint64_t address)
{
	return PARTITION_POINT(at, addresses->count, addresses->at[at] < address);
}

/* Returns whether the address is new, and was added. */
static bool add_address(struct addresses *addresses, uint64_t address)
{
	size_t at = place_of(addresses, address);

	if (addresses->count >= MADE_WANTED_MAX ||
	    (at < addresses->count && addresses->at[at] == address))
		return false;
	if (addresses->count == addresses->room) {
		size_t room = addresses->room ? addresses->room * 2 : 16;
		uint64_t *more = reallocarray(addresses->at, room, sizeof(*more));

		if (!more)
			return false;
		addresses->at = more;
		addresses->room = room;
	}
	memmove(addresses->at + at + 1, addresses->at + at,
		(addresses->count - at) * sizeof(*addresses->at));
	addresses->at[at] = address;
	addresses->count++;
	return true;
}

void making_done(struct making *making)
{
	free(making->known.at);
	free(making->asked.at);
	free(making->near.at);
	made_rows_done(&making->rows);
}

/* ---- what is wanted ---- */

static bool is_there(const struct table *table)
{
	return table->state == TABLE_THERE || table->state == TABLE_BARE;
}

bool table_want_made(struct table *table, uint64_t file_offset)
{
	struct making *making = &table->making;
	uint64_t address, soon_ns = clock_ns(CLOCK_MONOTONIC) + GATHER_NS;

	if (!table->registered || !is_there(table) || table_is_made(table, file_offset) ||
	    !elf_address_of(table->segments, table->segments_count, file_offset, &address) ||
	    !add_address(&making->known, address) || !add_address(&making->asked, address))
		return false;
	if (making->asked.count == 1 && making->at_ns < soon_ns)
		making->at_ns = soon_ns;
	return true;
}

static bool wants_some(const struct making *making)
{
	return making->asked.count || (making->near.count && making->near_ns < NEAR_MAX_NS);
}

/* Returns whether the table can be built again now. A table that is built anyway is built with what
 * is wanted, and its end calls tables->changed(). */
static bool can_renew(const struct table *table)
{
	return table->refs && is_there(table) && !table->making.renewing && !table->building;
}

static size_t count_runs(const struct tables *tables)
{
	size_t count = 0;

	for (const struct table *table = tables->all; table; table = table->next)
		count += table->making.rows.count;
	return count;
}

bool made_has_room(struct tables *tables)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (now_ns >= tables->ahead.minute_ns + MINUTE_NS) {
		tables->ahead.minute_ns = now_ns;
		tables->ahead.spent_ns = 0;
	}
	return tables->ahead.spent_ns < AHEAD_MAX_NS && count_runs(tables) < RUNS_ALL;
}

uint64_t tables_make_rows(struct tables *tables)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), next_ns = 0;

	if (!tables->arena || count_runs(tables) >= RUNS_ALL)
		return 0;
	for (struct table *table = tables->all; table; table = table->next) {
		const struct making *making = &table->making;

		if (!wants_some(making) || !can_renew(table))
			continue;
		if (making->at_ns <= now_ns)
			table_renew(tables, table);
		else if (!next_ns || making->at_ns < next_ns)
			next_ns = making->at_ns;
	}
	return next_ns;
}

/* ---- a job ---- */

static int copy_rows(const struct made_rows *from, struct made_rows *to)
{
	*to = (struct made_rows){.functions = from->functions, .refused = from->refused};
	if (!from->count)
		return 0;
	to->runs = reallocarray(NULL, from->count, sizeof(*to->runs));
	if (!to->runs)
		return -ENOMEM;
	memcpy(to->runs, from->runs, from->count * sizeof(*to->runs));
	to->count = from->count;
	return 0;
}

int made_want(struct table *table, struct made_want *want)
{
	struct making *making = &table->making;
	size_t asked = making->asked.count, near = making->near.count;

	*want = (struct made_want){0};
	if (copy_rows(&making->rows, &want->rows) < 0)
		return -ENOMEM;
	if (!asked && !near)
		return 0;
	want->addresses = reallocarray(NULL, asked + near, sizeof(*want->addresses));
	if (!want->addresses)
		return -ENOMEM;
	if (asked)
		memcpy(want->addresses, making->asked.at, asked * sizeof(*want->addresses));
	if (near)
		memcpy(want->addresses + asked, making->near.at, near * sizeof(*want->addresses));
	want->wanted = (struct made_wanted){
		.asked = want->addresses,
		.asked_count = asked,
		.near = want->addresses + asked,
		.near_count = near,
		.cpu_ns = making->near_ns < NEAR_MAX_NS ? NEAR_NS : 0,
	};
	making->asked.count = making->near.count = 0;
	return 0;
}

bool made_is_empty(const struct made_want *want)
{
	return !want->addresses && !want->rows.count;
}

void made_want_done(struct made_want *want)
{
	free(want->addresses);
	made_rows_done(&want->rows);
}

static void wait_for(struct making *making, uint64_t cpu_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (now_ns >= making->minute_ns + MINUTE_NS) {
		making->minute_ns = now_ns;
		making->spent_ns = 0;
	}
	making->spent_ns += cpu_ns;
	making->at_ns = now_ns + LEAST_NS;
	if (making->spent_ns + cpu_ns > SPENT_MAX)
		making->at_ns = making->minute_ns + MINUTE_NS;
}

void made_take(struct table *table, struct made_rows *rows, uint64_t cpu_ns)
{
	struct making *making = &table->making;

	made_rows_done(&making->rows);
	making->rows = *rows;
	*rows = (struct made_rows){0};
	for (size_t i = 0; i < making->rows.left_count; i++)
		add_address(&making->near, making->rows.left[i]);
	if (making->rows.count && making->known.count)
		making->near_ns += cpu_ns;
	wait_for(making, cpu_ns);
}

void made_fail(struct table *table)
{
	struct making *making = &table->making;

	for (size_t i = 0; i < making->known.count; i++)
		add_address(&making->asked, making->known.at[i]);
	making->at_ns = clock_ns(CLOCK_MONOTONIC) + MINUTE_NS;
}

/* ---- what is there ---- */

bool table_has_made(const struct table *table)
{
	return table->making.rows.count > 0;
}

bool table_is_made(const struct table *table, uint64_t file_offset)
{
	const struct made_rows *rows = &table->making.rows;
	uint64_t address;

	if (!rows->count ||
	    !elf_address_of(table->segments, table->segments_count, file_offset, &address))
		return false;
	size_t behind = PARTITION_POINT(at, rows->count, rows->runs[at].from <= address);
	return behind && address < rows->runs[behind - 1].to &&
	       rows->runs[behind - 1].rule.kind != RULE_NONE;
}
