/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to history_functions.c (the table) and history_blend.c, which fills it in. */
#pragma once

#include "history/history_blend.h"

struct intern;

/* A function in the record that is being added. */
struct function_now {
	uint64_t self, total;
	struct history_variation variation;
	uint32_t open; /* its frames among those that lead to the present node */
	bool is_touched;
};

struct function_row_key {
	uint32_t process;
	unsigned char type;
} __attribute__((packed));

struct functions {
	struct intern *names; /* struct function_row_key, and the name behind it */
	struct function_row *rows;
	struct function_now *now;
	uint32_t *touched; /* functions that the record has */
	size_t count, capacity, touched_count;
	bool by_process;
	size_t of_process_bytes; /* names of functions of processes */
	uint64_t refused;	 /* functions of processes that found no room */
};
