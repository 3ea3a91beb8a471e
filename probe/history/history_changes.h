/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions changed between two ranges, beyond noise. A window's rate of a function is its
 * weight through the window's length. Two ranges are compared by Welch's test on the means of their
 * windows' rates; where samples are counted, their variance is at least that of counting (Poisson).
 * Of all functions those are told whose change is significant with a false discovery rate of at
 * most 1 % (Benjamini and Hochberg), so two equal ranges show one in at most one comparison of 100;
 * a change of less than 1 % is none. What is held isn't a rate: two states of it are compared as
 * they are, and have no noise. Pure functions.
 */
#pragma once

#include "history/history_blend.h"
#include "output/svg/judged_functions.h"

/* What is known of a side beside its functions. */
struct history_span {
	double length, squares; /* of struct blend */
	double noise;		/* weight of a sample, where samples are counted; 0: they aren't */
	bool is_state;		/* weights are of what is held at one time */
};

struct history_rate {
	double before, after; /* weight per second; of states the weight */
	double error;	      /* standard error of their difference */
	double chance;	      /* of such a difference by noise alone */
	bool is_change;	      /* it is beyond noise */
};

struct history_change {
	enum frame_type type;
	char *name;
	uint32_t row; /* its number in the table */
	struct history_rate self, total;
};

/* Returns whether a side has windows enough to tell how much they vary: six. With fewer, rates that
 * vary by themselves show changes in more than one comparison of 100. Of states one is enough. */
bool history_span_tells(const struct history_span *span);

/*
 * Returns whether a row is compared. Where they are told by process these are the rows of processes
 * that aren't left out, and were there for long enough before; and the functions of those among
 * them that did something in both ranges.
 */
bool history_is_judged(const struct functions *functions, const struct function_row *row,
		       const struct history_span spans[HISTORY_SIDES]);

/* Compares weights of a row: its own or all. The range before counts from when its process was seen
 * first. is_change isn't told: that depends on all rows. */
struct history_rate history_compare_row(const struct functions *functions,
					const struct function_row *row,
					const struct function_weight weights[HISTORY_SIDES],
					const struct history_span spans[HISTORY_SIDES]);

/*
 * Compares all rows that are judged, as one family of tests. Lists those with a change, the largest
 * change of their own weight first, then of their whole weight; at most `max`. Returns their
 * number, or -ENOMEM. The caller ends the list with history_changes_free().
 */
int64_t history_changes(const struct functions *functions,
			const struct history_span spans[HISTORY_SIDES], size_t max,
			struct history_change **ret);
void history_changes_free(struct history_change *changes, size_t count);

/* Compares them likewise, and adds what came of it for each. Returns 0, -ENOMEM or -ENOSPC. */
int history_judge(const struct functions *functions, const struct history_span spans[HISTORY_SIDES],
		  struct judged_functions *judged);

/* Returns the probability that |t| of Student's distribution is at least that large. */
double student_chance(double t, double degrees);
