/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that dlopener loads while it runs. */
#include "../burn.h"

uint64_t plugin_spin(uint64_t ns);

uint64_t plugin_spin(uint64_t ns)
{
	return burn_ns(ns);
}
