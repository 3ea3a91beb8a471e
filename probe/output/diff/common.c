// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/diff/common.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/intern.h"
#include "output/text/escape.h"

#define NAMES_BYTES_MAX (256u << 20)
#define NAMED_MAX	3  /* names in a sentence */
#define NAMED_LEAST	1  /* percent: lighter ones aren't named */
#define NAME_BYTES_MAX	60 /* of a name in a sentence */

struct named_weight {
	uint64_t weights[2];
};

struct named_weights {
	struct intern *names;
	struct named_weight *weights; /* by the names' numbers */
	size_t capacity;
	uint64_t totals[2];
};

struct common {
	struct named_weights kinds[COMMON_KINDS];
};

int common_new(struct common **ret)
{
	struct common *common = calloc(1, sizeof(*common));
	int r = common ? 0 : -ENOMEM;

	for (int kind = 0; r == 0 && kind < COMMON_KINDS; kind++)
		r = intern_new(&common->kinds[kind].names, NAMES_BYTES_MAX);
	if (r < 0)
		common_free(common);
	else
		*ret = common;
	return r;
}

void common_free(struct common *common)
{
	if (!common)
		return;
	for (int kind = 0; kind < COMMON_KINDS; kind++) {
		intern_free(common->kinds[kind].names);
		free(common->kinds[kind].weights);
	}
	free(common);
}

int common_add(struct common *common, enum common_kind kind, enum stacks_side side, uint64_t weight,
	       const char *name, size_t len)
{
	struct named_weights *of = &common->kinds[kind];
	size_t known = intern_count(of->names);
	int64_t number = intern_add(of->names, name, len);

	if (number < 0)
		return number == -ENOSPC ? 0 : (int)number;
	if (array_grow(of->weights, of->capacity, (size_t)number + 1, 256) < 0)
		return -ENOMEM;
	if ((size_t)number == known)
		of->weights[number] = (struct named_weight){0};
	of->weights[number].weights[side] += weight;
	of->totals[side] += weight;
	return 0;
}

static double share_of(const struct named_weights *of, size_t number, enum stacks_side side)
{
	uint64_t total = of->totals[side];

	return total ? (double)of->weights[number].weights[side] / (double)total : 0;
}

unsigned common_percent(const struct common *common, enum common_kind kind)
{
	const struct named_weights *of = &common->kinds[kind];
	double sum = 0;

	if (!of->totals[0] && !of->totals[1])
		return 100;
	for (size_t i = 0; i < intern_count(of->names); i++) {
		double after = share_of(of, i, STACKS_AFTER),
		       before = share_of(of, i, STACKS_BEFORE);

		sum += after < before ? after : before;
	}
	return (unsigned)(sum * 100 + 0.5);
}

/* Finds the heaviest name that the other side lacks and that is lighter than the one named last, by
 * weight, then by number. Returns its number, or -1. */
static int64_t find_next(const struct named_weights *of, enum stacks_side side, int64_t last)
{
	int64_t found = -1;

	for (size_t i = 0; i < intern_count(of->names); i++) {
		uint64_t weight = of->weights[i].weights[side];

		if (of->weights[i].weights[!side] || share_of(of, i, side) * 100 < NAMED_LEAST)
			continue;
		if (last >= 0 &&
		    (weight > of->weights[last].weights[side] ||
		     (weight == of->weights[last].weights[side] && (int64_t)i <= last)))
			continue;
		if (found < 0 || weight > of->weights[found].weights[side])
			found = (int64_t)i;
	}
	return found;
}

void common_lacking(const struct common *common, enum common_kind kind, enum stacks_side side,
		    struct buf *out)
{
	const struct named_weights *of = &common->kinds[kind];
	int64_t number = -1;

	for (int i = 0; i < NAMED_MAX && (number = find_next(of, side, number)) >= 0; i++) {
		size_t len;
		const char *name = intern_get(of->names, (uint32_t)number, &len);

		buf_printf(out, "%s`", i ? ", " : "");
		folded_name(out, name, len < NAME_BYTES_MAX ? len : NAME_BYTES_MAX);
		buf_printf(out, "` (%.0f %%)", share_of(of, (size_t)number, side) * 100);
	}
}
