/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two programs of one shape and other names: main -> X_outer -> X_leaf, about a millisecond of CPU
 * time, and the end. Code lies at the same offsets in both, so a stack that is named by the wrong
 * file has wrong names, not none.
 */
#pragma once

#include "burn.h"

#define TWIN(letter)                                                                               \
	static void letter##_leaf(void)                                                            \
	{                                                                                          \
		burn_ns(700000);                                                                   \
	}                                                                                          \
	static void letter##_outer(void)                                                           \
	{                                                                                          \
		letter##_leaf();                                                                   \
	}                                                                                          \
	int main(void)                                                                             \
	{                                                                                          \
		letter##_outer();                                                                  \
		return 0;                                                                          \
	}
