// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "flow/maker.h"

#define ACTIVE_MAX 16 /* functions that share code; more: nothing is known */

static const struct rule none = {.kind = RULE_NONE};

/* The runs that hold some place. */
struct active {
	const struct made_run *runs[ACTIVE_MAX];
	size_t count;
	uint64_t crowded_to; /* up to there are more, and nothing is known */
};

static void drop_ended(struct active *active, uint64_t at)
{
	size_t kept = 0;

	for (size_t i = 0; i < active->count; i++) {
		if (active->runs[i]->to > at)
			active->runs[kept++] = active->runs[i];
	}
	active->count = kept;
}

static void add_active(struct active *active, const struct made_run *run)
{
	if (active->count < ACTIVE_MAX)
		active->runs[active->count++] = run;
	else if (run->to > active->crowded_to)
		active->crowded_to = run->to;
}

/* Returns the end of the stretch from `at` on, where the same runs are active. */
static uint64_t stretch_end(const struct active *active, uint64_t at, uint64_t next)
{
	uint64_t end = next;

	if (active->crowded_to > at && active->crowded_to < end)
		end = active->crowded_to;
	for (size_t i = 0; i < active->count; i++) {
		if (active->runs[i]->to < end)
			end = active->runs[i]->to;
	}
	return end;
}

static const struct rule *agreed_rule(const struct active *active, uint64_t at)
{
	const struct rule *rule = &active->runs[0]->rule;

	for (size_t i = 1; i < active->count; i++) {
		if (!rule_is_equal(rule, &active->runs[i]->rule))
			return &none;
	}
	return at < active->crowded_to ? &none : rule;
}

static int append_run(struct made_rows *to, size_t *room, uint64_t from, uint64_t end,
		      const struct rule *rule)
{
	struct made_run *last = to->count ? &to->runs[to->count - 1] : NULL;

	if (last && last->to == from && rule_is_equal(&last->rule, rule)) {
		last->to = end;
		return 0;
	}
	if (to->count == *room) {
		struct made_run *runs = reallocarray(to->runs, *room * 2 + 64, sizeof(*runs));

		if (!runs)
			return -ENOMEM;
		to->runs = runs;
		*room = *room * 2 + 64;
	}
	to->runs[to->count++] = (struct made_run){from, end, *rule};
	return 0;
}

int made_part(struct made_rows *made)
{
	struct made_rows parted = {0};
	struct active active = {0};
	size_t next = 0, room = 0;
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && (next < made->count || active.count)) {
		if (!active.count)
			at = made->runs[next].from;
		while (next < made->count && made->runs[next].from <= at)
			add_active(&active, &made->runs[next++]);
		uint64_t end = stretch_end(&active, at,
					   next < made->count ? made->runs[next].from : UINT64_MAX);
		r = append_run(&parted, &room, at, end, agreed_rule(&active, at));
		at = end;
		drop_ended(&active, at);
	}
	free(made->runs);
	made->runs = parted.runs;
	made->count = parted.count;
	return r;
}
