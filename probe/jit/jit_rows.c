// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jit_rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/grow.h"

/* Bytes. Sections less apart than that are one piece; a table has a word for each KiB of it. */
#define APART_MAX 65536
#define TABLE_MAX (1u << 30)

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

static const struct rule keeps_frames = {.kind = RULE_FRAMES};

/* The rows of a section. */
struct jit_slice {
	uint64_t start, end, at; /* at: the table's address of `start` */
	const struct jit_row *rows;
	size_t count;
};

struct jit_slices {
	struct jit_slice *each; /* by address */
	size_t count;
};

void jit_rows_done(struct jit_rows *rows)
{
	free(rows->pieces);
	image_done(&rows->image);
	*rows = (struct jit_rows){0};
}

/* Finds the section's rows among those of its object: the one that holds at its begin, and those
 * that begin inside. */
static void slice_rows(struct jit_slice *slice, const struct jit_row *rows, size_t count)
{
	size_t behind = PARTITION_POINT(at, count, rows[at].address <= slice->start);
	size_t first = behind ? behind - 1 : 0, end = behind;

	while (end < count && rows[end].address < slice->end)
		end++;
	slice->rows = rows + first;
	slice->count = end - first;
}

static bool has_rules(const struct jit_slice *slice)
{
	for (size_t i = 0; i < slice->count; i++) {
		if (slice->rows[i].rule.kind != RULE_NONE)
			return true;
	}
	return false;
}

/* Puts a section into the last piece, or begins another one. Returns false if there is no room. */
static bool place_slice(struct jit_rows *rows, struct jit_slice *slice)
{
	struct jit_piece *last = rows->count ? &rows->pieces[rows->count - 1] : NULL;
	uint64_t behind = last ? last->at + (last->end - last->start) : 0, at;

	if (slice->end - slice->start > TABLE_MAX)
		return false;
	if (last && slice->start - last->end <= APART_MAX) {
		slice->at = last->at + (slice->start - last->start);
		if (slice->at + (slice->end - slice->start) > TABLE_MAX)
			return false;
		last->end = slice->end;
		return true;
	}
	/* A byte is left between two pieces, for the row that ends the one before. */
	at = last ? (behind + BLOCK_BYTES) & ~(uint64_t)(BLOCK_BYTES - 1) : 0;
	if (rows->count == JIT_PIECES_MAX || at + (slice->end - slice->start) > TABLE_MAX)
		return false;
	slice->at = at;
	rows->pieces[rows->count++] = (struct jit_piece){slice->start, slice->end, at};
	return true;
}

static int give_row(row_sink sink, void *to, uint64_t at, const struct rule *rule)
{
	return sink(to, at, rule->kind == RULE_NONE ? &keeps_frames : rule);
}

static int give_slice(const struct jit_slice *slice, row_sink sink, void *to)
{
	int r = 0;

	if (slice->rows[0].address > slice->start)
		r = give_row(sink, to, slice->at, &keeps_frames);
	for (size_t i = 0; r == 0 && i < slice->count; i++) {
		const struct jit_row *row = &slice->rows[i];
		uint64_t from = row->address > slice->start ? row->address - slice->start : 0;

		r = give_row(sink, to, slice->at + from, &row->rule);
	}
	return r;
}

/* Gives all rows, as the table's addresses. */
static int give_slices(void *arg, row_sink sink, void *to)
{
	const struct jit_slices *slices = arg;
	int r = 0;

	for (size_t i = 0; r == 0 && i < slices->count; i++) {
		const struct jit_slice *slice = &slices->each[i];
		uint64_t end = slice->at + (slice->end - slice->start);

		r = give_slice(slice, sink, to);
		if (r == 0 && (i + 1 == slices->count || slices->each[i + 1].at != end))
			r = give_row(sink, to, end, &keeps_frames);
	}
	return r;
}

int jit_rows_make(struct jit_rows *rows, const struct jit_section *sections, size_t count,
		  const struct jit_row_list *list)
{
	_cleanup_free_ struct jit_slice *each = calloc(count + 1, sizeof(*each));
	struct jit_slices slices = {.each = each};

	*rows = (struct jit_rows){.pieces = calloc(JIT_PIECES_MAX, sizeof(*rows->pieces))};
	if (!each || !rows->pieces) {
		jit_rows_done(rows);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		struct jit_slice *slice = &each[slices.count];

		if (!sections[i].rows_count)
			continue;
		*slice = (struct jit_slice){.start = sections[i].start, .end = sections[i].end};
		slice_rows(slice, list->rows + sections[i].rows_first, sections[i].rows_count);
		if (!has_rules(slice))
			continue;
		if (place_slice(rows, slice))
			slices.count++;
		else
			rows->left_out++;
	}
	if (!slices.count)
		return 0;
	const struct jit_piece *last = &rows->pieces[rows->count - 1];
	const struct image_rows given = {
		.machine = MACHINE,
		.bytes = last->at + (last->end - last->start),
		.give = give_slices,
		.arg = &slices,
	};
	int r = image_of_rows(&given, &rows->image);
	if (r < 0)
		jit_rows_done(rows);
	return r;
}
