// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/svg/change.h"

static double variance_of(uint64_t scaled, double scale)
{
	return (double)scaled * (scale > 0 ? scale : 1);
}

bool change_is_shown(const struct change_rules *rules, enum change_verdict verdict, uint64_t total,
		     uint64_t before, uint64_t after)
{
	double change = before > after ? (double)(before - after) : (double)(after - before);
	/* A count's variance is the count: each scale is in its product twice. */
	double variance =
		variance_of(before, rules->before_scale) + variance_of(after, rules->after_scale);

	if (before == after)
		return false;
	if (verdict != CHANGE_BY_RULES)
		return verdict == (after > before ? CHANGE_GROWN : CHANGE_SHRUNK);
	if (rules->by_share && change * 100 < (double)total * CHANGE_SHARE_PERCENT)
		return false;
	return !rules->by_counts || change * change > CHANGE_SIGMAS * CHANGE_SIGMAS * variance;
}
