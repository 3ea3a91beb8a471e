// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/beside.h"

#include <stddef.h>

static void *run_beside(void *arg)
{
	const struct beside *beside = arg;

	beside->run(beside->arg);
	return NULL;
}

void beside_begin(struct beside *beside)
{
	beside->begun = pthread_create(&beside->thread, NULL, run_beside, beside) == 0;
	if (!beside->begun)
		beside->run(beside->arg);
}

void beside_end(struct beside *beside)
{
	if (beside->begun)
		pthread_join(beside->thread, NULL);
	beside->begun = false;
}
