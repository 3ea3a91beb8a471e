/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CONTAINER_OF returns the `type` whose field `member` is at the pointer, whether const or not. */
#pragma once

#include <stddef.h>

#define CONTAINER_OF(pointer, type, member)                                                        \
	({                                                                                         \
		const __typeof__(((type){0}).member) *member_ = (pointer);                         \
		(type *)(void *)((char *)member_ - offsetof(type, member));                        \
	})
