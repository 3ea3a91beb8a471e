// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jit_code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "jit/jit_memory.h"

#define SECTIONS_ALL 16384

const char *jit_loss_name(enum jit_loss loss)
{
	static const char *const names[] = {JIT_LOSSES(NAMED_NAME)};

	return names[loss];
}

void jit_code_done(struct jit_code *code)
{
	for (size_t i = 0; i < code->count; i++)
		jit_object_unref(code->objects[i]);
	free(code->objects);
	free(code->sections);
	jit_rows_done(&code->rows);
	jit_memory_give(code->whose, code->memory);
	*code = (struct jit_code){0};
}

/* ---- reading objects ---- */

static enum jit_loss loss_of(int error)
{
	switch (error) {
	case -EFBIG:
		return JIT_LOST_TOO_LARGE;
	case -EBADMSG:
		return JIT_LOST_BROKEN;
	case -ENOSPC:
	case -ENOMEM:
		return JIT_LOST_NO_ROOM;
	default:
		return JIT_LOST_UNREADABLE;
	}
}

struct jit_reader {
	struct jit_code *code;
	struct jit_reading reading;
};

static void take_file(void *arg, const struct jit_entry *entry, const struct jit_file *file,
		      int error)
{
	struct jit_reader *reader = arg;
	struct jit_code *code = reader->code;
	struct jit_object *object = NULL;
	int r = error ? error : jit_object_read(&object, entry, file, &reader->reading);

	if (object)
		code->objects[code->count++] = object;
	else
		code->lost[loss_of(r)]++;
	code->lost[JIT_LOST_ROWS] += reader->reading.rows.is_full;
	reader->reading.rows.is_full = false;
}

/* Takes out what is no longer in the list: what was read of it may be anything. */
static void drop_changed(struct jit_code *code, const struct jit_list *now)
{
	size_t kept = 0;

	for (size_t i = 0; i < code->count; i++) {
		struct jit_object *object = code->objects[i];

		if (jit_list_has(now, jit_object_entry(object), i)) {
			code->objects[kept++] = object;
			continue;
		}
		code->lost[JIT_LOST_CHANGED]++;
		code->sum = 0;
		jit_object_unref(object);
	}
	code->count = kept;
}

static int compare_objects(const void *a, const void *b)
{
	uint64_t left = jit_object_entry(*(struct jit_object *const *)a)->at;
	uint64_t right = jit_object_entry(*(struct jit_object *const *)b)->at;

	return left < right ? -1 : left > right;
}

/* ---- sections ---- */

static int compare_sections(const void *a, const void *b)
{
	const struct jit_section *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->end < right->end ? -1 : left->end > right->end;
}

static size_t count_sections(const struct jit_code *code)
{
	size_t sum = 0, count;

	for (size_t i = 0; i < code->count; i++) {
		jit_object_code(code->objects[i], &count);
		sum += count;
	}
	return sum;
}

static int collect_sections(struct jit_code *code)
{
	size_t all = count_sections(code);

	code->sections = calloc(all + 1, sizeof(*code->sections));
	if (!code->sections)
		return -ENOMEM;
	for (size_t i = 0; i < code->count; i++) {
		size_t count, rows, first = jit_object_rows(code->objects[i], &rows);
		const struct jit_range *ranges = jit_object_code(code->objects[i], &count);

		if (code->sections_count + count > SECTIONS_ALL) {
			code->lost[JIT_LOST_TOO_MANY]++;
			continue;
		}
		for (size_t j = 0; j < count; j++)
			code->sections[code->sections_count++] = (struct jit_section){
				.start = ranges[j].start,
				.end = ranges[j].end,
				.object = (uint32_t)i,
				.rows_count = (uint32_t)rows,
				.rows_first = first,
			};
	}
	if (code->sections_count)
		qsort(code->sections, code->sections_count, sizeof(*code->sections),
		      compare_sections);
	return 0;
}

/* Takes out sections over each other: what was made first may be gone, but nobody says which that
 * is. */
static void drop_overlapping(struct jit_code *code)
{
	struct jit_section *all = code->sections;
	size_t kept = 0, next;

	for (size_t i = 0; i < code->sections_count; i = next) {
		uint64_t end = all[i].end;

		for (next = i + 1; next < code->sections_count && all[next].start < end; next++)
			end = all[next].end > end ? all[next].end : end;
		if (next == i + 1)
			all[kept++] = all[i];
		else
			code->lost[JIT_LOST_OVERLAPPING] += next - i;
	}
	code->sections_count = kept;
}

/* ---- a look ---- */

static int take_memory(struct jit_code *code)
{
	size_t bytes = code->sections_count * sizeof(*code->sections) +
		       code->rows.image.count * sizeof(*code->rows.image.words) +
		       JIT_PIECES_MAX * sizeof(*code->rows.pieces);

	if (!jit_memory_take(code->whose, bytes))
		return -ENOSPC;
	code->memory = bytes;
	return 0;
}

static size_t count_with_rows(const struct jit_code *code)
{
	size_t sum = 0, count;

	for (size_t i = 0; i < code->count; i++) {
		jit_object_rows(code->objects[i], &count);
		sum += count > 0;
	}
	return sum;
}

static int arrange_code(struct jit_code *code, const struct jit_row_list *rows)
{
	int r = collect_sections(code);

	if (r < 0)
		return r;
	drop_overlapping(code);
	r = jit_rows_make(&code->rows, code->sections, code->sections_count, rows);
	if (r == 0)
		r = take_memory(code);
	if (r == -EFBIG || r == -ENOSPC || r == -EINVAL) { /* names without rows */
		jit_rows_done(&code->rows);
		code->lost[JIT_LOST_ROWS] += count_with_rows(code);
		r = 0;
	}
	code->lost[JIT_LOST_ROWS] += code->rows.left_out;
	return r;
}

void jit_code_leave_words(struct jit_code *code)
{
	size_t bytes = code->rows.image.count * sizeof(*code->rows.image.words);

	image_done(&code->rows.image);
	jit_memory_give(code->whose, bytes);
	code->memory -= bytes;
}

uint64_t jit_code_sum(const struct process_memory *memory, uint64_t descriptor)
{
	_cleanup_(jit_list_done) struct jit_list list = {0};
	uint64_t sum;

	if (jit_list_read(memory, descriptor, &list) < 0)
		return 0;
	jit_files_read(memory, &list, &sum, NULL, NULL);
	return sum;
}

int jit_code_read(struct jit_code *code, const struct process_memory *memory, uint64_t descriptor,
		  uint64_t whose)
{
	_cleanup_(jit_list_done) struct jit_list list = {0}, now = {0};
	/* Names that take long must not count against those of root's files. */
	struct jit_reader reader = {code, {.demangling = {.whose = UINT64_MAX}}};

	reader.reading.whose = whose;
	reader.reading.left = JIT_LOOK_MAX;
	*code = (struct jit_code){.whose = whose};
	int r = jit_list_read(memory, descriptor, &list);
	if (r < 0)
		return r;
	code->lost[JIT_LOST_TOO_MANY] = list.is_cut;
	code->objects = calloc(list.count + 1, sizeof(struct jit_object *));
	if (!code->objects)
		return -ENOMEM;
	code->lost[JIT_LOST_SLOW] =
		list.count - jit_files_read(memory, &list, &code->sum, take_file, &reader);
	r = jit_list_read(memory, descriptor, &now);
	if (r == 0) {
		drop_changed(code, &now);
		qsort(code->objects, code->count, sizeof(struct jit_object *), compare_objects);
		r = arrange_code(code, &reader.reading.rows);
	}
	free(reader.reading.rows.rows);
	if (r < 0)
		jit_code_done(code);
	return r;
}

int64_t jit_code_find(const struct jit_code *code, uint64_t address)
{
	size_t behind =
		PARTITION_POINT(at, code->sections_count, code->sections[at].start <= address);

	if (!behind || address >= code->sections[behind - 1].end)
		return -1;
	return code->sections[behind - 1].object;
}

int64_t jit_code_same(const struct jit_code *code, const struct jit_object *object)
{
	struct jit_object **same = bsearch(&object, code->objects, code->count,
					   sizeof(struct jit_object *), compare_objects);

	return same && jit_object_is_same(*same, object) ? same - code->objects : -1;
}
