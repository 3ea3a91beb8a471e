// SPDX-License-Identifier: GPL-2.0-or-later
/* The index's codes: which code was at which address, and when, by the file's records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "bpf/shared/sample.h"
#include "java/files/jvmfile_state.h"

#define CARRY_NS     (120 * NS_PER_S) /* longer than a window */
#define FORGET_COUNT 1024

/* Least number of unloaded codes for which room is made: that moves all codes, and must not happen
 * with each further record. */
#define GONE_MIN (JVMFILE_CODES_MAX / 16)

/* Codes with equal times that are compared with an old code; the agent gives each its own time. */
#define SAME_TIME_MAX 64

/* Removes the codes that were unloaded by that time. */
static void drop_gone(struct jvmfile *file, uint64_t gone_ns)
{
	uint32_t kept = 0;

	map_clear(file->alive);
	for (uint32_t i = 0; i < file->codes_count; i++) {
		uint64_t unloaded_ns = file->codes[i].unloaded_ns;
		uint32_t *place;

		if (unloaded_ns && unloaded_ns <= gone_ns) {
			if (unloaded_ns > file->forgotten_ns)
				file->forgotten_ns = unloaded_ns;
			continue;
		}
		file->codes[kept] = file->codes[i];
		if (!unloaded_ns &&
		    map_put(file->alive, &file->codes[kept].from, (void **)&place) >= 0)
			*place = kept;
		kept++;
	}
	file->codes_count = kept;
	jvmfile_disorder(file);
}

static int make_room(struct jvmfile *file)
{
	if (file->codes_count < file->codes_room)
		return 0;
	if (file->codes_room >= JVMFILE_CODES_MAX) {
		if (file->codes_count - map_count(file->alive) < GONE_MIN)
			return -ENOSPC;
		drop_gone(file, UINT64_MAX);
		return file->codes_count < file->codes_room ? 0 : -ENOSPC;
	}
	uint32_t room = file->codes_room ? 2 * file->codes_room : 1024;

	room = room < JVMFILE_CODES_MAX ? room : JVMFILE_CODES_MAX;
	struct jvmfile_code *codes = reallocarray(file->codes, room, sizeof(*codes));
	if (!codes)
		return -ENOMEM;
	file->codes = codes;
	file->codes_room = room;
	return 0;
}

void jvmfile_unload(struct jvmfile *file, uint64_t address, uint64_t time_ns)
{
	const uint32_t *place = map_get(file->alive, &address);

	if (!place)
		return;
	file->codes[*place].unloaded_ns = time_ns ? time_ns : 1;
	map_del(file->alive, &address);
}

static bool is_interpreter(const struct java_record *record)
{
	static const char name[] = "Interpreter";
	size_t len = sizeof(name) - 1;

	return record->kind == JAVA_STUB && record->code.nodes == len &&
	       record->bytes >= JAVA_CODE_BYTES + len && memcmp(record->code.data, name, len) == 0;
}

int jvmfile_add(struct jvmfile *file, const struct java_record *record, uint64_t offset)
{
	uint64_t from = record->code.address, to = from + record->code.size;
	uint32_t *place = NULL;

	if (to < from || to > FRAME_ADDRESS)
		return -EBADMSG;
	jvmfile_unload(file, from, record->time_ns);
	int r = make_room(file);
	if (r == 0)
		r = map_put(file->alive, &from, (void **)&place);
	if (r < 0 || !place) {
		file->stats.lost += r == -ENOSPC && record->kind != JAVA_LOST;
		return r == -ENOSPC ? 0 : r;
	}
	*place = file->codes_count;
	file->codes[file->codes_count++] = (struct jvmfile_code){
		.from = from,
		.to = to,
		.loaded_ns = record->time_ns,
		.offset = offset,
		.kind = record->kind,
		.flags = record->flags,
		.is_interpreter = is_interpreter(record),
	};
	if (record->flags & JAVA_CODE_BEFORE && record->time_ns > file->generated_ns)
		file->generated_ns = record->time_ns;
	return 0;
}

/* Gives codes that are in both files their old ids and numbers; both files have the order of load
 * times. Marks the old codes that were found: offset 0, unloaded_ns 1. */
static void keep_ids(struct jvmfile *file, struct jvmfile_code *before, uint32_t count)
{
	for (uint32_t i = 0, j = 0; i < count; i++) {
		while (j < file->codes_count && file->codes[j].loaded_ns < before[i].loaded_ns)
			j++;
		for (uint32_t at = j; at < file->codes_count && at - j < SAME_TIME_MAX; at++) {
			struct jvmfile_code *code = &file->codes[at];

			if (code->loaded_ns != before[i].loaded_ns)
				break;
			if (code->from != before[i].from)
				continue;
			code->id = before[i].id;
			code->number = before[i].number;
			before[i].offset = 0;
			before[i].unloaded_ns = 1; /* marks the code as found */
			j = at + 1;
			break;
		}
	}
}

/* Keeps the old codes that the agent left out, as they are unloaded, if that isn't long ago: the
 * window's stacks may have them. Returns their number. */
static uint32_t keep_gone(struct jvmfile *file, struct jvmfile_code *before, uint32_t count)
{
	uint64_t now = loop_now_ns();
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool is_found = before[i].unloaded_ns == 1;
		uint64_t gone_ns = before[i].unloaded_ns ? before[i].unloaded_ns : now;

		if (!is_found && now - gone_ns < CARRY_NS) {
			before[kept] = before[i];
			before[kept].unloaded_ns = gone_ns;
			before[kept++].offset = 0;
		} else if (!is_found && gone_ns > file->forgotten_ns) {
			file->forgotten_ns = gone_ns;
		}
	}
	return kept;
}

/* Merges the kept old codes into the new ones, by load time. Returns 0, -ENOSPC, or -ENOMEM. */
static int join_before(struct jvmfile *file, const struct jvmfile_code *before, uint32_t count)
{
	uint32_t from = file->codes_count, to = from + count;

	if (!count)
		return 0;
	if (to > JVMFILE_CODES_MAX)
		return -ENOSPC;
	if (to > file->codes_room) {
		struct jvmfile_code *codes = reallocarray(file->codes, to, sizeof(*codes));

		if (!codes)
			return -ENOMEM;
		file->codes = codes;
		file->codes_room = to;
	}
	file->codes_count = to;
	while (count) {
		if (from && file->codes[from - 1].loaded_ns > before[count - 1].loaded_ns)
			file->codes[--to] = file->codes[--from];
		else
			file->codes[--to] = before[--count];
	}
	drop_gone(file, 0); /* only to renew `alive` and `order` */
	return 0;
}

void jvmfile_keep(struct jvmfile *file, struct jvmfile_code *before, uint32_t count)
{
	keep_ids(file, before, count);
	count = keep_gone(file, before, count);
	if (join_before(file, before, count) < 0)
		file->forgotten_ns = loop_now_ns();
}

void jvmfile_number(struct jvmfile *file)
{
	for (uint32_t i = file->ordered; i < file->codes_count; i++)
		if (!file->codes[i].number)
			file->codes[i].number = ++file->numbers;
}

void jvmfile_forget(struct jvmfile *file, uint64_t gone_ns)
{
	uint32_t gone = 0;

	if (jvmfile_take(file) < 0)
		return;
	for (uint32_t i = 0; i < file->codes_count; i++)
		gone += file->codes[i].unloaded_ns && file->codes[i].unloaded_ns <= gone_ns;
	if (gone > FORGET_COUNT) {
		drop_gone(file, gone_ns);
		jvmfile_forget_answers(file);
		jvmfile_order(file);
	}
	jvmfile_give(file);
}
