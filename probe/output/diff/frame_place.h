/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a frame's name that tells a place and changes with each version of its program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets into the name. */
struct place_in_name {
	size_t owner_len;	       /* the function, from the name's begin on; 0: addresses */
	size_t group_begin, group_end; /* the source file, or the module */
	size_t begin, end; /* the place itself, with what introduces it: ":12", "+0x1f" */
	bool is_line;	   /* `number` is a line; else an address */
	uint64_t number;
};

/*
 * Finds the place in `function (file:12)`, `[module+0x1f]` and V8's `JS:*function file:12:5`, each
 * with or without the suffix of its kind. Returns false if the name tells none.
 */
bool frame_place_find(const char *name, size_t len, struct place_in_name *place);
