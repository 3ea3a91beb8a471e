// SPDX-License-Identifier: GPL-2.0-or-later
#include "select/spec.h"

int spec_init(struct spec *spec, const struct params *params)
{
	*spec = (struct spec){.params = *params};
	return snoopers_new(&spec->snoopers);
}

void spec_copy(struct spec *to, const struct spec *from)
{
	*to = *from;
	snoopers_ref(to->snoopers);
}

void spec_done(struct spec *spec)
{
	snoopers_unref(spec->snoopers);
	spec->snoopers = NULL;
}
