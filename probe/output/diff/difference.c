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
	svg->has_processes = difference->comparable.has_pids;
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

	*difference = (struct difference){.stacks = {.normalize = raw->normalize,
						     .took_ns = {raw->took_ns[0], raw->took_ns[1]},
						     .is_rewritten = true}};
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

/* What is told of both sides, in the words of who asked: with `negate` the side STACKS_AFTER is the
 * older profile. */
struct warning_words {
	const struct difference *difference;
	const char *words[2]; /* by side */
	struct buf *out;
};

static void warn_units(const struct warning_words *words)
{
	const struct stacks *stacks = &words->difference->stacks;
	const struct folded_header *after = &stacks->headers[STACKS_AFTER],
				   *before = &stacks->headers[STACKS_BEFORE];

	if (after->unit[0] && before->unit[0] && strcmp(after->unit, before->unit) != 0)
		buf_printf(words->out, "%s counts %s, %s %s\n", words->words[STACKS_BEFORE],
			   before->unit, words->words[STACKS_AFTER], after->unit);
	else if (!stacks->normalize && after->counts && after->period_ns && before->period_ns &&
		 after->period_ns != before->period_ns)
		buf_printf(words->out,
			   "%s has a sample each %" PRIu64 " us, %s each %" PRIu64
			   " us: --normalize compares shares\n",
			   words->words[STACKS_BEFORE], before->period_ns / 1000,
			   words->words[STACKS_AFTER], after->period_ns / 1000);
}

static void warn_lengths(const struct warning_words *words)
{
	const struct stacks *stacks = &words->difference->stacks;
	uint64_t after = folded_header_took_ms(&stacks->headers[STACKS_AFTER]);
	uint64_t before = folded_header_took_ms(&stacks->headers[STACKS_BEFORE]);
	uint64_t longer = after > before ? after : before, shorter = after + before - longer;

	if (shorter && !stacks->normalize && (longer - shorter) * 100 > longer * OTHER_PERCENT)
		buf_printf(words->out, "%s took %.1f s, %s %.1f s: --normalize compares shares\n",
			   words->words[STACKS_BEFORE], (double)before / 1000,
			   words->words[STACKS_AFTER], (double)after / 1000);
}

static void add_lacking(const struct warning_words *words, enum common_kind kind, const char *what)
{
	const struct common *common = words->difference->comparable.common;
	struct buf *out = words->out;

	for (int side = 1; side >= 0; side--) {
		size_t begin = out->len;

		buf_printf(out, "; %s only %s: ", what, words->words[side]);
		size_t named = out->len;
		common_lacking(common, kind, side, out);
		if (out->len == named)
			out->len = begin;
	}
}

static void warn_common(const struct warning_words *words)
{
	const struct common *common = words->difference->comparable.common;
	unsigned processes = common_percent(common, COMMON_PROCESSES);
	unsigned leaves = common_percent(common, COMMON_LEAVES);

	if (processes >= LITTLE_PERCENT && leaves >= LITTLE_PERCENT)
		return;
	buf_printf(words->out,
		   "the profiles have little in common: %u %% by processes, %u %% by leaves",
		   processes, leaves);
	if (processes < LITTLE_PERCENT)
		add_lacking(words, COMMON_PROCESSES, "processes");
	if (leaves < LITTLE_PERCENT)
		add_lacking(words, COMMON_LEAVES, "leaves");
	buf_char(words->out, '\n');
}

void difference_warnings(const struct difference *difference, bool negate, struct buf *out)
{
	const struct stacks *stacks = &difference->stacks;
	const struct warning_words words = {
		.difference = difference,
		.words = {[STACKS_AFTER] = negate ? "before" : "after",
			  [STACKS_BEFORE] = negate ? "after" : "before"},
		.out = out,
	};
	size_t versions = difference->comparable.versions;

	if (stacks->has_header[0] && stacks->has_header[1]) {
		warn_units(&words);
		warn_lengths(&words);
	}
	if (stacks->totals[0] && stacks->totals[1])
		warn_common(&words);
	if (versions)
		buf_printf(out,
			   "lines and addresses of %zu source file%s or module%s are left out of "
			   "names, as versions seem to differ (--places keep leaves them in)\n",
			   versions, versions == 1 ? "" : "s", versions == 1 ? "" : "s");
}
