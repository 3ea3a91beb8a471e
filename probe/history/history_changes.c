// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define DISCOVERY_RATE 0.01
#define WINDOWS_LEAST  5.5
#define SMALLEST_PART  0.01 /* of the larger rate: less is no change */

/*
 * The continued fraction of the incomplete beta function, by Lentz's method. Source: Abramowitz and
 * Stegun 26.5.8; convergence is fast for x < (a + 1) / (a + b + 2).
 */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int i = 1; i <= 500; i++) {
		double m = i, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-12)
			break;
	}
	return h;
}

/* The regularized incomplete beta function. */
static double beta_part(double a, double b, double x)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_chance(double t, double degrees)
{
	return beta_part(degrees / 2, 0.5, degrees / (degrees + t * t));
}

static double larger_of(double a, double b)
{
	return a > b ? a : b;
}

/* Of the mean's square: a smaller variance is what rounding has left of none. */
#define SMALLEST_SPREAD 1e-9

/* A side's mean rate, and how much the rate varies between the side's windows. */
struct mean_rate {
	double mean;
	double windows;	 /* so many of one length would tell as much */
	double variance; /* of a window's rate */
	double degrees;	 /* of freedom of this variance; 0: one window doesn't tell it */
};

static struct mean_rate mean_of(const struct function_weight *weight,
				const struct history_span *span)
{
	struct mean_rate rate = {.windows = 1};
	double length = span->length;

	if (length <= 0)
		return rate;
	rate.mean = weight->sum / length;
	if (span->squares > 0)
		rate.windows = length * length / span->squares;
	if (rate.windows > 1.5) {
		double square = rate.mean * rate.mean, spread = weight->squares / length - square;

		rate.degrees = rate.windows - 1;
		rate.variance =
			larger_of(spread, SMALLEST_SPREAD * square) * rate.windows / rate.degrees;
	}
	return rate;
}

/* The variance of a side's mean, and its degrees of freedom. */
struct mean_error {
	double variance, degrees;
};

/*
 * If the sides don't differ, both tell how much a window varies, and how often a sample comes. Each
 * side's variance is at least that: else a range with few windows, or few samples, would seem to be
 * known better than it is.
 */
static struct mean_error error_of(const struct mean_rate *rate, const struct mean_rate *other,
				  const struct history_span spans[HISTORY_SIDES],
				  enum history_side side)
{
	double degrees = rate->degrees + other->degrees;
	double pooled =
		degrees > 0 ? (rate->variance * rate->degrees + other->variance * other->degrees) /
				      degrees
			    : 0;
	struct mean_error error = {larger_of(rate->variance, pooled) / rate->windows,
				   rate->degrees > 0 ? rate->degrees : degrees};
	const struct history_span *span = &spans[side], *beside = &spans[!side];
	double common = (rate->mean * span->length + other->mean * beside->length) /
			(span->length + beside->length);
	double counting = larger_of(rate->mean, common) * span->noise / span->length;

	if (counting > error.variance)
		error = (struct mean_error){counting, 1000}; /* as good as known */
	return error;
}

/* Returns whether anything tells how exact a side's mean is: one window doesn't, but samples do. */
static bool is_known(const struct mean_rate *rate, const struct history_span *span)
{
	return rate->degrees > 0 || span->noise > 0;
}

static struct history_rate compare_rates(const struct function_weight weights[HISTORY_SIDES],
					 const struct history_span spans[HISTORY_SIDES])
{
	struct mean_rate before = mean_of(&weights[HISTORY_BEFORE], &spans[HISTORY_BEFORE]);
	struct mean_rate after = mean_of(&weights[HISTORY_AFTER], &spans[HISTORY_AFTER]);
	struct history_rate rate = {.before = before.mean, .after = after.mean, .chance = 1};

	if (spans[HISTORY_AFTER].is_state)
		return (struct history_rate){
			.before = weights[HISTORY_BEFORE].sum,
			.after = weights[HISTORY_AFTER].sum,
			.chance = weights[HISTORY_BEFORE].sum == weights[HISTORY_AFTER].sum,
		};
	if (spans[HISTORY_BEFORE].length <= 0 || spans[HISTORY_AFTER].length <= 0 ||
	    !is_known(&before, &spans[HISTORY_BEFORE]) || !is_known(&after, &spans[HISTORY_AFTER]))
		return rate;
	struct mean_error left = error_of(&before, &after, spans, HISTORY_BEFORE);
	struct mean_error right = error_of(&after, &before, spans, HISTORY_AFTER);
	double variance = left.variance + right.variance;
	if (variance <= 0)
		return rate;
	/* Welch and Satterthwaite */
	double degrees = variance * variance /
			 (left.variance * left.variance / left.degrees +
			  right.variance * right.variance / right.degrees);
	rate.error = sqrt(variance);
	rate.chance = student_chance((after.mean - before.mean) / rate.error, degrees);
	return rate;
}

bool history_span_tells(const struct history_span *span)
{
	if (span->is_state)
		return span->length > 0;
	return span->squares > 0 && span->length * span->length >= WINDOWS_LEAST * span->squares;
}

static int compare_chances(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Returns the largest chance that is still significant, by Benjamini and Hochberg; -1: none is. */
static double significant_chance(double *chances, size_t count)
{
	double limit = -1;

	if (count)
		qsort(chances, count, sizeof(*chances), compare_chances);
	for (size_t i = 0; i < count; i++) {
		if (chances[i] <= DISCOVERY_RATE * (double)(i + 1) / (double)count)
			limit = chances[i];
	}
	return limit;
}

static double size_of(const struct history_rate *rate)
{
	return rate->is_change ? fabs(rate->after - rate->before) : 0;
}

/* By own weight: a function that became slower, not all that call it; then by the whole. */
static int compare_changes(const void *a, const void *b)
{
	const struct history_change *left = a, *right = b;
	double self = size_of(&right->self) - size_of(&left->self);
	double total = size_of(&right->total) - size_of(&left->total);

	if (self != 0)
		return self > 0 ? 1 : -1;
	if (total != 0)
		return total > 0 ? 1 : -1;
	return strcmp(left->name, right->name);
}

void history_changes_free(struct history_change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(changes[i].name);
	free(changes);
}

/* Returns whether a difference is large enough to be one: what hardly varies, a timer's wait,
 * differs significantly by next to nothing. */
static bool is_large(const struct history_rate *rate)
{
	double larger = larger_of(rate->before, rate->after);

	return larger > 0 && fabs(rate->after - rate->before) >= SMALLEST_PART * larger;
}

/* Returns whether a difference is beyond noise. */
static bool is_beyond(const struct history_rate *rate, double limit)
{
	return rate->error > 0 && rate->chance <= limit && is_large(rate);
}

static void mark_states(struct history_change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		changes[i].self.is_change = is_large(&changes[i].self);
		changes[i].total.is_change = is_large(&changes[i].total);
	}
}

/* Marks what is beyond noise, own weights and whole ones together: one family of tests. */
static int mark_changes(struct history_change *changes, size_t count)
{
	_cleanup_free_ double *chances = calloc(2 * count + 1, sizeof(*chances));
	size_t tests = 0;

	if (!chances)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (changes[i].self.error > 0)
			chances[tests++] = changes[i].self.chance;
		if (changes[i].total.error > 0)
			chances[tests++] = changes[i].total.chance;
	}
	double limit = significant_chance(chances, tests);
	for (size_t i = 0; i < count; i++) {
		changes[i].self.is_change = is_beyond(&changes[i].self, limit);
		changes[i].total.is_change = is_beyond(&changes[i].total, limit);
	}
	return 0;
}

/* Returns what of the range before a process was there in: it may have begun within it. */
static struct history_span own_span(const struct history_span *span,
				    const struct function_row *process)
{
	struct history_span own = *span;

	own.length -= process->late_length;
	own.squares -= process->late_squares;
	return own;
}

bool history_is_judged(const struct functions *functions, const struct function_row *row,
		       const struct history_span spans[HISTORY_SIDES])
{
	bool is_process = row->type == FRAME_TYPE_PROCESS;

	if (!functions_by_process(functions))
		return true;
	if (!is_process && row->process == NO_PROCESS)
		return false;
	const struct function_row *process =
		is_process ? row : functions_at(functions, row->process);
	struct history_span before = own_span(&spans[HISTORY_BEFORE], process);

	return !process->is_left_out && process->total[HISTORY_BEFORE].sum > 0 &&
	       (is_process || process->total[HISTORY_AFTER].sum > 0) && history_span_tells(&before);
}

struct history_rate history_compare_row(const struct functions *functions,
					const struct function_row *row,
					const struct function_weight weights[HISTORY_SIDES],
					const struct history_span spans[HISTORY_SIDES])
{
	struct history_span own[HISTORY_SIDES] = {spans[HISTORY_BEFORE], spans[HISTORY_AFTER]};

	if (row->type == FRAME_TYPE_PROCESS)
		own[HISTORY_BEFORE] = own_span(&spans[HISTORY_BEFORE], row);
	else if (row->process != NO_PROCESS)
		own[HISTORY_BEFORE] =
			own_span(&spans[HISTORY_BEFORE], functions_at(functions, row->process));
	return compare_rates(weights, own);
}

/* Compares the rows that are judged. Returns their number. Names are borrowed. */
static size_t compare_rows(const struct functions *functions,
			   const struct history_span spans[HISTORY_SIDES],
			   struct history_change *changes)
{
	size_t count = 0;

	for (size_t i = 0; i < functions_count(functions); i++) {
		const struct function_row *row = functions_at(functions, i);

		if (!history_is_judged(functions, row, spans))
			continue;
		if (changes)
			changes[count] = (struct history_change){
				.type = row->type,
				.name = (char *)row->name,
				.row = (uint32_t)i,
				.self = history_compare_row(functions, row, row->self, spans),
				.total = history_compare_row(functions, row, row->total, spans),
			};
		count++;
	}
	return count;
}

/* Makes the names of a list its own. */
static int own_names(struct history_change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		changes[i].name = strdup(changes[i].name);
		if (!changes[i].name) {
			while (i--)
				free(changes[i].name);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Compares all rows that are judged, and marks the changes. Names are borrowed. Returns their
 * number, or -ENOMEM. The caller frees *ret. */
static int64_t judge_rows(const struct functions *functions,
			  const struct history_span spans[HISTORY_SIDES],
			  struct history_change **ret)
{
	size_t count = compare_rows(functions, spans, NULL);
	_cleanup_free_ struct history_change *changes = calloc(count + 1, sizeof(*changes));

	if (!changes)
		return -ENOMEM;
	compare_rows(functions, spans, changes);
	if (spans[HISTORY_AFTER].is_state)
		mark_states(changes, count);
	else if (mark_changes(changes, count) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(changes);
	return (int64_t)count;
}

int64_t history_changes(const struct functions *functions,
			const struct history_span spans[HISTORY_SIDES], size_t max,
			struct history_change **ret)
{
	_cleanup_free_ struct history_change *changes = NULL;
	int64_t count = judge_rows(functions, spans, &changes), kept = 0;

	if (count < 0)
		return count;
	qsort(changes, (size_t)count, sizeof(*changes), compare_changes);
	while (kept < count && (size_t)kept < max &&
	       (changes[kept].self.is_change || changes[kept].total.is_change))
		kept++;
	if (own_names(changes, (size_t)kept) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(changes);
	return kept;
}

/* Returns the direction of a change beyond noise. */
static signed char direction_of(const struct history_rate *rate)
{
	if (!rate->is_change)
		return 0;
	return rate->after > rate->before ? 1 : -1;
}

int history_judge(const struct functions *functions, const struct history_span spans[HISTORY_SIDES],
		  struct judged_functions *judged)
{
	_cleanup_free_ struct history_change *changes = NULL;
	int64_t count = judge_rows(functions, spans, &changes);
	int r = count < 0 ? (int)count : 0;

	for (int64_t i = 0; r == 0 && i < count; i++) {
		struct judged_function verdict = {direction_of(&changes[i].self),
						  direction_of(&changes[i].total)};

		r = judged_add(judged, changes[i].type, changes[i].name, verdict);
	}
	return r;
}
