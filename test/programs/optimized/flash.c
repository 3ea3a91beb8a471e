/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flash: burns FLASH_US microseconds of CPU time (10,000) in main -> flash_outer -> flash_work and
 * ends. */
#include <stdlib.h>

#include "level.h"

LEVEL static uint64_t flash_work(uint64_t ns)
{
	use_frame_register();
	return burn_ns(ns);
}

LEVEL static uint64_t flash_outer(uint64_t ns)
{
	use_frame_register();
	return flash_work(ns) + 1;
}

int main(void)
{
	const char *us = getenv("FLASH_US");

	return flash_outer(us ? strtoull(us, NULL, 10) * 1000 : 10000000) == 1;
}
