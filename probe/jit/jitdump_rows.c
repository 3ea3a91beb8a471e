// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unwind rows of functions of a jitdump. A function's .eh_frame comes before it, as it would lie
 * behind the function's code, at the next multiple of 8 bytes; perf takes it so.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "cfi/cfi.h"
#include "jit/jitdump_state.h"

#define FRAMES_MAX (64u << 10) /* bytes of a function's .eh_frame */

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct function_rows {
	struct jitdump_building *building;
	const struct jitdump_function *function;
	size_t count;
	bool begins_elsewhere; /* the first row isn't the function's begin */
};

static int number_rule(struct jitdump_building *building, const struct rule *rule, uint32_t *number)
{
	struct jitdump *dump = building->dump;
	uint32_t *known;
	int r = map_put(building->rules, rule, (void **)&known);

	if (r < 0)
		return r == -ENOSPC ? -EFBIG : r;
	if (r == 1) {
		if (dump->rules_count == JITDUMP_RULES_MAX) {
			map_del(building->rules, rule);
			return -EFBIG;
		}
		r = array_grow(dump->rules, dump->rules_room, dump->rules_count + 1, 16);
		if (r < 0) {
			map_del(building->rules, rule);
			return r;
		}
		memcpy(&dump->rules[dump->rules_count], rule, sizeof(*rule));
		*known = (uint32_t)dump->rules_count++;
	}
	*number = *known;
	return 0;
}

/* Numbers the rules that were known before. */
static int begin_rules(struct jitdump_building *building)
{
	const struct jitdump *dump = building->dump;
	int r = map_new(&building->rules, sizeof(struct rule), sizeof(uint32_t),
			JITDUMP_RULES_MAX + 1);

	for (size_t i = 0; r >= 0 && i < dump->rules_count; i++) {
		uint32_t *number;

		r = map_put(building->rules, &dump->rules[i], (void **)&number);
		if (r >= 0)
			*number = (uint32_t)i;
	}
	return r < 0 ? r : 0;
}

static int take_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct function_rows *taking = arg;
	struct jitdump *dump = taking->building->dump;
	uint64_t at = address - taking->function->start;
	struct jitdump_row row = {.at = (uint32_t)at};

	if (at >= taking->function->bytes)
		return 0;
	taking->begins_elsewhere |= !taking->count && at;
	if (taking->count == JITDUMP_ROWS_OF || dump->rows_count == JIT_ROWS_MAX)
		return -EFBIG;
	int r = number_rule(taking->building, rule, &row.rule);
	if (r == 0)
		r = array_grow(dump->rows, dump->rows_room, dump->rows_count + 1, 256);
	if (r < 0)
		return r;
	dump->rows[dump->rows_count++] = row;
	taking->count++;
	return 0;
}

int jitdump_rows_read(struct jitdump_building *building, struct jitdump_function *function)
{
	struct jitdump *dump = building->dump;
	size_t first = dump->rows_count;
	struct function_rows taking = {.building = building, .function = function};
	struct cfi_stats stats = {0};
	const struct elf_image image = {
		.wide = true,
		.machine = MACHINE,
		.segments = {{.address = function->start, .file_bytes = function->bytes}},
		.segments_count = 1,
		.frames = {.text_address = function->start,
			   .eh_frame = {dump->frames_at, dump->frames_bytes},
			   .eh_frame_address = function->start +
					       ((function->bytes + UINT64_C(7)) & ~UINT64_C(7))},
	};

	dump->had_rows = true;
	int r = dump->frames_bytes > FRAMES_MAX ? -EFBIG : 0;
	if (r == 0 && !building->rules)
		r = begin_rules(building);
	if (r == 0)
		r = cfi_read(building->fd, &image, take_row, &taking, &stats);
	if (r == -ENOMEM)
		return r;
	/* What describes other code as well, by addresses that count from where .eh_frame lies, may
	 * lie elsewhere than it is taken to. */
	bool is_sane = r == 0 && taking.count && !taking.begins_elsewhere && !stats.broken;
	if (is_sane) {
		function->rows_first = (uint32_t)first;
		function->rows_count = (uint16_t)taking.count;
	} else {
		dump->rows_count = first;
		dump->lost[JIT_LOST_ROWS]++;
	}
	return 0;
}

/* ---- a table ---- */

static void expand_rows(const struct jitdump *dump, const struct jitdump_function *function,
			struct jit_row_list *list)
{
	for (size_t i = 0; i < function->rows_count; i++) {
		const struct jitdump_row *row = &dump->rows[function->rows_first + i];

		list->rows[list->count++] =
			(struct jit_row){function->start + row->at, dump->rules[row->rule]};
	}
}

int jitdump_make_rows(const struct jitdump *dump, struct jit_rows *rows)
{
	_cleanup_free_ struct jit_section *sections = calloc(dump->count + 1, sizeof(*sections));
	_cleanup_free_ struct jit_row *each = calloc(dump->rows_count + 1, sizeof(*each));
	struct jit_row_list list = {.rows = each};
	size_t count = 0;

	*rows = (struct jit_rows){0};
	if (!sections || !each)
		return -ENOMEM;
	for (size_t i = 0; i < dump->count; i++) {
		const struct jitdump_function *function = &dump->functions[i];

		if (!function->rows_count)
			continue;
		sections[count++] = (struct jit_section){
			.start = function->start,
			.end = jitdump_end(function),
			.rows_count = function->rows_count,
			.rows_first = list.count,
		};
		expand_rows(dump, function, &list);
	}
	return jit_rows_make(rows, sections, count, &list);
}
