// SPDX-License-Identifier: GPL-2.0-or-later
#include "hooks/fault_sampling.h"

#include <math.h>

#define NUMBERS 4294967296.0 /* number of values of a 32-bit random number */

/* Returns the chance and the weight, which is computed from the chance as rounded to 32 bits. */
static struct fault_chance chance_of(double bytes, double mean)
{
	double numbers = mean > 0 ? round(-expm1(-bytes / mean) * NUMBERS) : NUMBERS;

	if (numbers < 1)
		numbers = 1;
	return (struct fault_chance){
		.bytes = (uint64_t)round(bytes * NUMBERS / numbers),
		.last = (uint32_t)(numbers - 1),
	};
}

void fault_sampling_fill(struct fault_chance chances[FAULT_PAGES_MAX + 1], uint32_t page_bytes,
			 uint64_t mean)
{
	for (uint32_t pages = 0; pages <= FAULT_PAGES_MAX; pages++)
		chances[pages] = chance_of((double)pages * page_bytes, (double)mean);
}
