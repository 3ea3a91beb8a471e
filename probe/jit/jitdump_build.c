// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions come and go, in the order of the file. Those that were known before lie in one sorted
 * array, later ones in a short one, so that few of them are moved to make room for another:
 *
 *	dump.functions	[a][b]x[d]....		x: it has ended
 *	pending		  [k][l]
 *
 * When the short one is full, both become one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "jit/jit_memory.h"
#include "jit/jitdump_state.h"

#define PENDING_MAX   1024
#define GARBAGE_LEAST 65536		     /* bytes */
#define DUMP_MAX      (JIT_LOOK_MAX / 4 * 3) /* the rest is for the table of rows */

size_t jitdump_bytes(const struct jitdump *dump)
{
	return sizeof(*dump) + (dump->room + dump->gone_room) * sizeof(struct jitdump_function) +
	       dump->gone_count * sizeof(*dump->gone_ends) + dump->names.capacity +
	       dump->rows_room * sizeof(*dump->rows) + dump->rules_room * sizeof(*dump->rules);
}

/* ---- begin ---- */

static int copy_array(void *to_, size_t *room, const void *from, size_t count, size_t bytes)
{
	void **to = to_;

	*to = count ? malloc(count * bytes) : NULL;
	if (count && !*to)
		return -ENOMEM;
	if (count)
		memcpy(*to, from, count * bytes);
	*room = count;
	return 0;
}

#define COPY_ARRAY(dump, from, array, count, room)                                                 \
	copy_array(&(dump)->array, &(dump)->room, (from)->array, (from)->count,                    \
		   sizeof(*(from)->array))

static int copy_dump(struct jitdump *dump, const struct jitdump *from)
{
	int r = COPY_ARRAY(dump, from, functions, count, room);

	if (r == 0)
		r = COPY_ARRAY(dump, from, gone, gone_count, gone_room);
	if (r == 0)
		r = COPY_ARRAY(dump, from, rows, rows_count, rows_room);
	if (r == 0)
		r = COPY_ARRAY(dump, from, rules, rules_count, rules_room);
	if (r < 0)
		return r;
	if (from->names.len)
		buf_add(&dump->names, from->names.data, from->names.len);
	dump->count = from->count;
	dump->gone_count = from->gone_count;
	dump->rows_count = from->rows_count;
	dump->rules_count = from->rules_count;
	dump->rows_version = from->rows_version;
	dump->had_rows = from->had_rows;
	dump->last_ns = from->last_ns;
	dump->frames_at = from->frames_at;
	dump->frames_bytes = from->frames_bytes;
	memcpy(dump->lost, from->lost, sizeof(dump->lost));
	return buf_error(&dump->names);
}

int jitdump_building_begin(struct jitdump_building *building, const struct jitdump *before)
{
	building->dump = calloc(1, sizeof(*building->dump));
	building->pending = calloc(PENDING_MAX, sizeof(*building->pending));
	if (!building->dump || !building->pending)
		return -ENOMEM;
	building->dump->refs = 1;
	building->dump->names.max = JIT_LOOK_MAX;
	return before ? copy_dump(building->dump, before) : 0;
}

void jitdump_building_done(struct jitdump_building *building)
{
	jitdump_unref(building->dump);
	free(building->pending);
	map_free(building->rules);
}

/* ---- functions that end ---- */

static size_t bytes_of(const struct jitdump_function *function)
{
	return function->name_len + function->rows_count * sizeof(struct jitdump_row);
}

static int compare_ends(const void *a, const void *b)
{
	const struct jitdump_function *left = a, *right = b;

	return left->until_ns > right->until_ns ? -1 : left->until_ns < right->until_ns;
}

/* Forgets those that ended long ago, or are too many. */
static void trim_gone(struct jitdump_building *building)
{
	struct jitdump *dump = building->dump;
	size_t kept = 0;

	if (!dump->gone_count)
		return;
	qsort(dump->gone, dump->gone_count, sizeof(*dump->gone), compare_ends);
	while (kept < dump->gone_count && kept < JITDUMP_GONE_MAX &&
	       dump->gone[kept].until_ns + JITDUMP_GONE_NS >= building->now_ns)
		kept++;
	for (size_t i = kept; i < dump->gone_count; i++)
		building->garbage += bytes_of(&dump->gone[i]);
	dump->gone_count = kept;
}

/* Notes that a function is there no more. */
static int end_function(struct jitdump_building *building, struct jitdump_function *function,
			uint64_t ns)
{
	struct jitdump *dump = building->dump;

	dump->rows_version += function->rows_count > 0;
	building->garbage += function->rows_count * sizeof(struct jitdump_row);
	function->until_ns = ns > function->from_ns ? ns : function->from_ns;
	if (!function->until_ns)
		function->until_ns = 1;
	if (function->until_ns == function->from_ns) { /* no time is its own */
		building->garbage += function->name_len;
		return 0;
	}
	if (dump->gone_count == 2 * JITDUMP_GONE_MAX)
		trim_gone(building);
	int r = array_grow(dump->gone, dump->gone_room, dump->gone_count + 1, 16);
	if (r < 0)
		return r;
	dump->gone[dump->gone_count] = *function;
	dump->gone[dump->gone_count++].rows_count = 0;
	return 0;
}

/* Ends what lies in [start, end). */
static int end_range(struct jitdump_building *building, uint64_t start, uint64_t end, uint64_t ns)
{
	struct jitdump *dump = building->dump;
	struct jitdump_function *pending = building->pending;
	size_t first = PARTITION_POINT(at, dump->count, jitdump_end(&dump->functions[at]) <= start);
	int r = 0;

	for (size_t i = first; r == 0 && i < dump->count && dump->functions[i].start < end; i++) {
		if (!dump->functions[i].until_ns)
			r = end_function(building, &dump->functions[i], ns);
	}
	first = PARTITION_POINT(at, building->pending_count, jitdump_end(&pending[at]) <= start);
	size_t behind = first;
	for (; r == 0 && behind < building->pending_count && pending[behind].start < end; behind++)
		r = end_function(building, &pending[behind], ns);
	memmove(&pending[first], &pending[behind],
		(building->pending_count - behind) * sizeof(*pending));
	building->pending_count -= behind - first;
	return r;
}

/* ---- making one of both arrays ---- */

static int merge_pending(struct jitdump_building *building)
{
	struct jitdump *dump = building->dump;
	size_t kept = 0, old = 0, late = 0, all = 0;

	for (size_t i = 0; i < dump->count; i++) {
		if (!dump->functions[i].until_ns)
			dump->functions[kept++] = dump->functions[i];
	}
	dump->count = kept;
	if (!building->pending_count)
		return 0;
	size_t room = kept + building->pending_count;
	struct jitdump_function *merged = malloc(room * sizeof(*merged));
	if (!merged)
		return -ENOMEM;
	while (old < kept || late < building->pending_count) {
		bool is_old =
			late == building->pending_count ||
			(old < kept && dump->functions[old].start < building->pending[late].start);

		merged[all++] = is_old ? dump->functions[old++] : building->pending[late++];
	}
	free(dump->functions);
	dump->functions = merged;
	dump->count = dump->room = all;
	building->pending_count = 0;
	return 0;
}

static size_t names_bytes(const struct jitdump *dump)
{
	size_t bytes = 0;

	for (size_t i = 0; i < dump->count; i++)
		bytes += dump->functions[i].name_len;
	for (size_t i = 0; i < dump->gone_count; i++)
		bytes += dump->gone[i].name_len;
	return bytes;
}

static void move_names(struct jitdump_function *functions, size_t count, const struct buf *from,
		       struct buf *to)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = to->len;

		if (functions[i].name_len)
			buf_add(to, from->data + functions[i].name, functions[i].name_len);
		functions[i].name = (uint32_t)at;
	}
}

/* Copies names and rows that somebody refers to, and forgets the others. */
static int drop_garbage(struct jitdump_building *building)
{
	struct jitdump *dump = building->dump;
	struct buf names = BUF_INIT(JIT_LOOK_MAX);
	size_t rows = 0, at = 0;

	for (size_t i = 0; i < dump->count; i++)
		rows += dump->functions[i].rows_count;
	struct jitdump_row *kept = rows ? malloc(rows * sizeof(*kept)) : NULL;
	if (names_bytes(dump))
		buf_reserve(&names, names_bytes(dump));
	move_names(dump->functions, dump->count, &dump->names, &names);
	move_names(dump->gone, dump->gone_count, &dump->names, &names);
	if ((rows && !kept) || buf_error(&names)) {
		free(kept);
		buf_done(&names);
		return -ENOMEM;
	}
	for (size_t i = 0; i < dump->count; i++) {
		struct jitdump_function *function = &dump->functions[i];

		if (kept && function->rows_count)
			memcpy(&kept[at], &dump->rows[function->rows_first],
			       function->rows_count * sizeof(*kept));
		function->rows_first = (uint32_t)at;
		at += function->rows_count;
	}
	buf_done(&dump->names);
	free(dump->rows);
	dump->names = names;
	dump->rows = kept;
	dump->rows_count = dump->rows_room = rows;
	building->garbage = 0;
	return 0;
}

static int tidy_up(struct jitdump_building *building)
{
	int r = merge_pending(building);

	return r < 0 ? r : drop_garbage(building);
}

/* Sets *has_room to whether the dump may take so many more bytes. */
static int look_for_room(struct jitdump_building *building, size_t more, bool *has_room)
{
	const struct jitdump *dump = building->dump;
	size_t used = (dump->count + building->pending_count + dump->gone_count) *
			      sizeof(struct jitdump_function) +
		      dump->names.len + dump->rows_count * sizeof(*dump->rows) +
		      dump->rules_count * sizeof(*dump->rules);
	int r = 0;

	*has_room = used + more <= DUMP_MAX;
	if (!*has_room && building->garbage >= GARBAGE_LEAST) {
		r = tidy_up(building);
		if (r == 0)
			r = look_for_room(building, more, has_room);
	}
	return r;
}

/* ---- records ---- */

/* Adds a function where there is none. */
static int put_function(struct jitdump_building *building, const struct jitdump_function *function)
{
	struct jitdump_function *pending = building->pending;
	int r = building->pending_count == PENDING_MAX ? merge_pending(building) : 0;

	if (r < 0)
		return r;
	size_t before =
		PARTITION_POINT(at, building->pending_count, pending[at].start < function->start);
	memmove(&pending[before + 1], &pending[before],
		(building->pending_count - before) * sizeof(*pending));
	pending[before] = *function;
	building->pending_count++;
	building->dump->rows_version += function->rows_count > 0;
	return 0;
}

static bool is_sane(const struct jitdump_record *record)
{
	return record->bytes && record->bytes <= JITDUMP_CODE_MAX &&
	       record->start <= UINT64_MAX - record->bytes;
}

static int add_name(struct jitdump_building *building, struct jitdump_function *function,
		    const char *name)
{
	struct buf *names = &building->dump->names;
	size_t before = names->len;

	if (name[0] == '_')
		demangle_within(&building->demangling, name, names);
	else /* no name of C++ or Rust: in it '@' begins no version */
		buf_add(names, name, strlen(name));
	if (buf_error(names)) /* there is room for the longest one */
		return -ENOMEM;
	size_t len = names->len - before;
	function->name = (uint32_t)before;
	function->name_len = (uint16_t)(len < JITDUMP_NAME_MAX ? len : JITDUMP_NAME_MAX);
	building->garbage += len - function->name_len;
	return 0;
}

static int take_load(struct jitdump_building *building, const struct jitdump_record *record)
{
	struct jitdump *dump = building->dump;
	struct jitdump_function function = {
		.start = record->start,
		.index = record->index,
		.from_ns = record->time_ns < building->now_ns ? record->time_ns : building->now_ns,
		.bytes = (uint32_t)record->bytes,
	};
	bool has_room = false;

	if (!is_sane(record)) {
		dump->lost[JIT_LOST_BROKEN] += record->bytes > 0; /* 0: there is no code */
		return 0;
	}
	int r = end_range(building, function.start, jitdump_end(&function), function.from_ns);
	if (r == 0)
		r = look_for_room(building, sizeof(function) + JITDUMP_NAME_MAX, &has_room);
	if (r < 0)
		return r;
	if (!has_room) {
		dump->lost[JIT_LOST_NO_ROOM]++;
		return 0;
	}
	r = add_name(building, &function, record->name);
	if (r == 0 && dump->frames_bytes)
		r = jitdump_rows_read(building, &function);
	return r < 0 ? r : put_function(building, &function);
}

static struct jitdump_function *function_at(struct jitdump_function *functions, size_t count,
					    uint64_t start)
{
	size_t i = PARTITION_POINT(at, count, functions[at].start < start);

	return i < count && functions[i].start == start && !functions[i].until_ns ? &functions[i]
										  : NULL;
}

/* Gives a function a name of its own: that of the one that has ended goes when that is forgotten.
 */
static int copy_name(struct buf *names, struct jitdump_function *function)
{
	char *room = function->name_len ? buf_reserve(names, function->name_len) : NULL;

	if (!function->name_len)
		return 0;
	if (!room)
		return -ENOMEM;
	memcpy(room, names->data + function->name, function->name_len);
	function->name = (uint32_t)names->len;
	names->len += function->name_len;
	return 0;
}

/* Moves a function, with its name and its rows. */
static int take_move(struct jitdump_building *building, const struct jitdump_record *record)
{
	struct jitdump *dump = building->dump;
	uint64_t ns = record->time_ns < building->now_ns ? record->time_ns : building->now_ns;
	bool has_room = false;
	int r = look_for_room(building, sizeof(struct jitdump_function) + JITDUMP_NAME_MAX,
			      &has_room);
	const struct jitdump_function *old =
		function_at(building->pending, building->pending_count, record->from);

	if (r < 0)
		return r;
	if (!old)
		old = function_at(dump->functions, dump->count, record->from);
	if (!is_sane(record) || record->start > UINT64_MAX - JITDUMP_CODE_MAX) {
		dump->lost[JIT_LOST_BROKEN]++;
		return 0;
	}
	if (!old || old->index != record->index) /* it was left out, and counted */
		return end_range(building, record->start, record->start + record->bytes, ns);
	struct jitdump_function moved = *old;
	r = end_range(building, old->start, jitdump_end(old), ns);
	moved.start = record->start;
	moved.from_ns = ns > moved.from_ns ? ns : moved.from_ns;
	if (r == 0)
		r = end_range(building, moved.start, jitdump_end(&moved), ns);
	if (r == 0 && !has_room)
		dump->lost[JIT_LOST_NO_ROOM]++;
	if (r < 0 || !has_room)
		return r;
	r = copy_name(&dump->names, &moved);
	return r < 0 ? r : put_function(building, &moved);
}

int jitdump_building_take(struct jitdump_building *building, const struct jitdump_record *record)
{
	struct jitdump *dump = building->dump;
	int r = 0;

	if (record->time_ns > dump->last_ns)
		dump->last_ns = record->time_ns;
	switch (record->kind) {
	case JITDUMP_LOAD:
		if (record->pid == building->pid)
			r = take_load(building, record);
		dump->frames_bytes = 0;
		break;
	case JITDUMP_MOVE:
		if (record->pid == building->pid)
			r = take_move(building, record);
		break;
	case JITDUMP_UNWINDING:
		dump->frames_at = record->frames_at;
		dump->frames_bytes = record->frames_bytes;
		break;
	default:
		break;
	}
	return r;
}

/* ---- end ---- */

static int compare_starts(const void *a, const void *b)
{
	const struct jitdump_function *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->from_ns < right->from_ns ? -1 : left->from_ns > right->from_ns;
}

static int sort_gone(struct jitdump_building *building)
{
	struct jitdump *dump = building->dump;
	uint64_t end = 0;

	dump->gone_ends = calloc(dump->gone_count + 1, sizeof(*dump->gone_ends));
	if (!dump->gone_ends)
		return -ENOMEM;
	if (dump->gone_count)
		qsort(dump->gone, dump->gone_count, sizeof(*dump->gone), compare_starts);
	for (size_t i = 0; i < dump->gone_count; i++) {
		if (jitdump_end(&dump->gone[i]) > end)
			end = jitdump_end(&dump->gone[i]);
		dump->gone_ends[i] = end;
	}
	return 0;
}

int jitdump_building_end(struct jitdump_building *building)
{
	trim_gone(building);
	int r = tidy_up(building);
	return r < 0 ? r : sort_gone(building);
}
