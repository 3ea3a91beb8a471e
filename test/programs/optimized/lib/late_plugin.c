/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that late loads while it runs: late_spin -> late_work. */
#include "../level.h"

uint64_t late_spin(uint64_t ns);

LEVEL static uint64_t late_work(uint64_t ns)
{
	use_frame_register();
	return burn_ns(ns);
}

uint64_t late_spin(uint64_t ns)
{
	return late_work(ns) + 1;
}
