// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/near_names.h"

#include <stdio.h>
#include <string.h>

#include "output/text/near_word.h"

void near_names_meet(struct near_names *near, const char *name)
{
	if (near->count == NEAR_NAMES_MAX || strlen(name) >= NEAR_NAME_BYTES ||
	    !near_word(near->word, &name, 1))
		return;
	for (size_t i = 0; i < near->count; i++) {
		if (strcmp(near->found[i], name) == 0)
			return;
	}
	strcpy(near->found[near->count++], name);
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
