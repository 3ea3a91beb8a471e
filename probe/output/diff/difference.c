// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/diff/difference.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"

#define LITTLE_PERCENT 50 /* less in common is said */
#define OTHER_PERCENT  10 /* profiles whose lengths differ by more aren't equally long */

static void set_rules(const struct difference *difference, bool counts_told, struct stacks_svg *svg)
{
	const struct stacks *stacks = &difference->stacks;
	const struct folded_header *headers = stacks->headers;
	struct change_rules *rules = &svg->rules;

	*rules = (struct change_rules){0};
	if (stacks->has_header[STACKS_AFTER] || stacks->has_header[STACKS_BEFORE]) {
		rules->by_counts = stacks->has_header[STACKS_AFTER] ? headers[STACKS_AFTER].counts
								    : headers[STACKS_BEFORE].counts;
		rules->by_share = !rules->by_counts;
	} else if (counts_told) {
		rules->by_counts = strcmp(svg->meta.count_name, "samples") == 0;
		rules->by_share = !rules->by_counts;
	} else {
		/* Texts with pids are stackprobe's: a weight is at least the number of its events.
		 */
		rules->by_counts = difference->comparable.has_pids;
		rules->by_share = true;
	}
}

int difference_make(struct difference *difference, const struct stacks *raw,
		    enum places_wish places, bool counts_told, struct stacks_svg *svg)
{
	struct stacks *stacks = &difference->stacks;
	int r;

	*difference = (struct difference){.stacks = {.normalize = raw->normalize}};
	r = comparable_make(&difference->comparable, raw, places);
	for (int side = 0; r == 0 && side < 2; side++) {
		const struct buf *text = &difference->comparable.texts[side];

		r = stacks_read(stacks, side, text->data, text->len);
		stacks->headers[side] = raw->headers[side];
		stacks->has_header[side] = raw->has_header[side];
	}
	if (r < 0)
		return r;
	svg->common = common_percent(difference->comparable.common, COMMON_LEAVES);
	svg->has_common = stacks->totals[0] && stacks->totals[1];
	set_rules(difference, counts_told, svg);
	return 0;
}

void difference_done(struct difference *difference)
{
	stacks_done(&difference->stacks);
	comparable_done(&difference->comparable);
}

static void warn_units(const struct folded_header headers[2], struct buf *out)
{
	const struct folded_header *after = &headers[STACKS_AFTER],
				   *before = &headers[STACKS_BEFORE];

	if (strcmp(after->unit, before->unit) != 0)
		buf_printf(out, "before counts %s, after %s\n", before->unit, after->unit);
	else if (after->counts && after->period_ns && before->period_ns &&
		 after->period_ns != before->period_ns)
		buf_printf(out,
			   "before has a sample each %" PRIu64 " us, after each %" PRIu64
			   " us: --normalize compares shares\n",
			   before->period_ns / 1000, after->period_ns / 1000);
}

static void warn_lengths(const struct stacks *stacks, struct buf *out)
{
	uint64_t after = folded_header_took_ms(&stacks->headers[STACKS_AFTER]);
	uint64_t before = folded_header_took_ms(&stacks->headers[STACKS_BEFORE]);
	uint64_t longer = after > before ? after : before, shorter = after + before - longer;

	if (shorter && !stacks->normalize && (longer - shorter) * 100 > longer * OTHER_PERCENT)
		buf_printf(out, "before took %.1f s, after %.1f s: --normalize compares shares\n",
			   (double)before / 1000, (double)after / 1000);
}

static void add_lacking(const struct common *common, enum common_kind kind, const char *what,
			struct buf *out)
{
	static const char *const only[2] = {"after", "before"};

	for (int side = 1; side >= 0; side--) {
		size_t begin = out->len;

		buf_printf(out, "; %s only %s: ", what, only[side]);
		size_t named = out->len;
		common_lacking(common, kind, side, out);
		if (out->len == named)
			out->len = begin;
	}
}

static void warn_common(const struct difference *difference, struct buf *out)
{
	const struct common *common = difference->comparable.common;
	unsigned processes = common_percent(common, COMMON_PROCESSES);
	unsigned leaves = common_percent(common, COMMON_LEAVES);

	if (processes >= LITTLE_PERCENT && leaves >= LITTLE_PERCENT)
		return;
	buf_printf(out, "the profiles have little in common: %u %% by processes, %u %% by leaves",
		   processes, leaves);
	if (processes < LITTLE_PERCENT)
		add_lacking(common, COMMON_PROCESSES, "processes", out);
	if (leaves < LITTLE_PERCENT)
		add_lacking(common, COMMON_LEAVES, "leaves", out);
	buf_char(out, '\n');
}

void difference_warnings(const struct difference *difference, struct buf *out)
{
	const struct stacks *stacks = &difference->stacks;
	size_t versions = difference->comparable.versions;

	if (stacks->has_header[0] && stacks->has_header[1]) {
		warn_units(stacks->headers, out);
		warn_lengths(stacks, out);
	}
	if (stacks->totals[0] && stacks->totals[1])
		warn_common(difference, out);
	if (versions)
		buf_printf(out,
			   "lines and addresses of %zu source file%s or module%s are left out of "
			   "names, as versions differ (--places keep leaves them in)\n",
			   versions, versions == 1 ? "" : "s", versions == 1 ? "" : "s");
}
