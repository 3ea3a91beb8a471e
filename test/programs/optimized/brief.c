/* SPDX-License-Identifier: GPL-2.0-or-later */
/* brief: burns 300 ms in main -> brief_outer -> brief_work and ends. */
#include "level.h"

LEVEL static uint64_t brief_work(void)
{
	use_frame_register();
	return burn_ns(300000000u);
}

LEVEL static uint64_t brief_outer(void)
{
	return brief_work() + 1;
}

int main(void)
{
	return brief_outer() == 1;
}
