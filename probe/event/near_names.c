// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/near_names.h"

#include <stdio.h>
#include <string.h>

#include "output/text/near_word.h"

/* Sorts the names, with one that is new, by their likeness, and drops the last one if there is no
 * room for all. */
static void sort_names(struct near_names *near, const char *name)
{
	char sorted[NEAR_NAMES_MAX][NEAR_NAME_BYTES];
	const char *left[NEAR_NAMES_MAX + 1];
	size_t count = 0, kept = 0;

	for (; count < near->count; count++)
		left[count] = near->found[count];
	left[count++] = name;
	while (count && kept < NEAR_NAMES_MAX) {
		const char *best = near_word(near->word, left, count);
		size_t at = 0;

		while (left[at] != best)
			at++;
		memcpy(sorted[kept++], best, strlen(best) + 1);
		count--;
		memmove(&left[at], &left[at + 1], (count - at) * sizeof(left[0]));
	}
	memcpy(near->found, sorted, sizeof(sorted));
	near->count = kept;
}

void near_names_meet(struct near_names *near, const char *name)
{
	if (strlen(name) >= NEAR_NAME_BYTES || !near_word(near->word, &name, 1))
		return;
	for (size_t i = 0; i < near->count; i++) {
		if (strcmp(near->found[i], name) == 0)
			return;
	}
	sort_names(near, name);
}

void near_names_write(const struct near_names *near, struct why *to)
{
	size_t len = 0;

	to->text[0] = '\0';
	for (size_t i = 0; i < near->count && len < sizeof(to->text); i++)
		len += (size_t)snprintf(to->text + len, sizeof(to->text) - len, "%s%s",
					i == 0		       ? " Is it "
					: i + 1 == near->count ? " or "
							       : ", ",
					near->found[i]);
	if (near->count && len < sizeof(to->text))
		snprintf(to->text + len, sizeof(to->text) - len, "?");
}
