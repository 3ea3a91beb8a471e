// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/processes/proc_shown.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "costs/counting.h"

#define BIT(cost) (1ULL << (cost))

static int compare_by(const void *a, const void *b, void *arg)
{
	const struct cost_row *left = a, *right = b;
	enum cost by = *(const enum cost *)arg;

	if (cost_row_value(left, by) != cost_row_value(right, by))
		return cost_row_value(left, by) > cost_row_value(right, by) ? -1 : 1;
	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static bool is_used(const struct cost_row *row, uint64_t values)
{
	for (int i = 0; i < COST_VALUES; i++) {
		if (values & BIT(i) && cost_row_value(row, (enum cost)i))
			return true;
	}
	return false;
}

uint64_t shown_values(const struct cost_answer *answer, const struct proc_choice *choice)
{
	return cost_kind_get(choice->probe)->values & answer->known;
}

void choose_rows(struct shown_rows *shown, const struct cost_answer *answer,
		 const struct proc_choice *choice)
{
	const struct cost_rows *rows = answer->rows;
	enum cost by = choice->by;

	*shown = (struct shown_rows){.all = calloc(rows->count + 1, sizeof(*shown->all))};
	shown->others.more = &shown->others_more;
	shown->sum.more = &shown->sum_more;
	if (!shown->all)
		return;
	for (size_t i = 0; i < rows->count; i++) {
		if (is_used(&rows->all[i], shown_values(answer, choice)))
			shown->all[shown->count++] = rows->all[i];
		cost_row_add(&shown->sum, &rows->all[i]);
	}
	qsort_r(shown->all, shown->count, sizeof(*shown->all), compare_by, &by);
	for (size_t i = choice->top; i < shown->count; i++)
		cost_row_add(&shown->others, &shown->all[i]);
	shown->has_others = shown->count > choice->top;
	if (shown->has_others)
		shown->count = choice->top;
}

unsigned shown_rates(const struct cost_row *row, uint64_t values,
		     struct shown_rate rates[RATES_MAX])
{
	static const struct {
		const char *name;
		enum cost value, of;
		bool with_value; /* it is of both together */
		double scale;
	} known[RATES_MAX] = {
		{"average_hz", COST_PMU_CYCLES, COST_PMU_NS, false, NS_PER_S},
		{"ipc", COST_PMU_INSTRUCTIONS, COST_PMU_CYCLES, false, 1},
		{"miss_rate", COST_PMU_CACHE_MISSES, COST_PMU_CACHE_REFERENCES, false, 1},
		{"hit_rate", COST_CACHE_HIT, COST_CACHE_ADDED, true, 1},
	};
	unsigned count = 0;

	for (int i = 0; i < RATES_MAX; i++) {
		double value = (double)cost_row_value(row, known[i].value);
		double of = (double)cost_row_value(row, known[i].of) +
			    (known[i].with_value ? value : 0);

		if (values & BIT(known[i].value) && values & BIT(known[i].of))
			rates[count++] = (struct shown_rate){
				known[i].name, of > 0 ? known[i].scale * value / of : -1};
	}
	return count;
}

uint64_t shown_from(const struct cost_answer *answer, const struct proc_choice *choice)
{
	uint64_t from_ns = answer->from_ns, counted_ns = 0;

	if (cost_kind_get(choice->probe)->key < COSTS)
		return from_ns; /* the kernel counts it */
	for (int i = 0; i < COST_COUNTERS; i++) {
		if (counting_probe((enum cost_counter)i) == choice->probe)
			counted_ns = answer->counted_from_ns[i];
	}
	return counted_ns > from_ns ? counted_ns : from_ns;
}

void choose_pairs(struct shown_pairs *shown, const struct cost_answer *answer)
{
	*shown = (struct shown_pairs){0};
	shown->all = keyed_counts_largest(&answer->rows->pairs, &shown->count);
	for (size_t i = PAIRS_SHOWN; i < shown->count; i++)
		shown->others += shown->all[i].count;
	shown->count = shown->count < PAIRS_SHOWN ? shown->count : PAIRS_SHOWN;
	for (size_t i = 0; i < shown->count; i++) {
		shown->names[2 * i].pid = shown->all[i].pair.waker;
		shown->names[2 * i + 1].pid = shown->all[i].pair.woken;
	}
	cost_table_names(answer->table, shown->names, 2 * shown->count);
}
