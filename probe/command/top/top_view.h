/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands where in the view of `top`, for any canvas: a terminal, or text. Pure functions. */
#pragma once

#include "command/top/top_table.h"

/* How a text looks. */
enum top_look { LOOK_PLAIN, LOOK_BOLD, LOOK_DIM, LOOK_HEAD, LOOK_CHOSEN, LOOK_BUSY };

struct top_canvas {
	unsigned rows, columns;
	bool is_utf8; /* its sparklines have block elements; else ASCII */
	/* Writes a text that ends within the canvas; row and column count from 0. */
	void (*put)(void *arg, unsigned row, unsigned column, enum top_look look, const char *text);
	void *arg;
};

struct top_view {
	const struct top_table *table;
	const char *host;     /* its name */
	const char *source;   /* where the numbers come from: "the daemon at …" */
	const char *group;    /* of rows: "pid", "comm", … */
	const char *message;  /* in the last line instead of the keys; "": none */
	const char *wrong;    /* why nothing comes; "": it does */
	size_t first, chosen; /* rows: at the top of the table, and under the cursor */
	bool has_cursor;
	bool is_paused;
	bool types_filter; /* the last line is where the filter is typed */
	bool shows_help;
};

#define TOP_HEAD_ROWS 4 /* above the first row of the table */

/* Returns how many rows of the table fit. */
unsigned top_view_fits(const struct top_canvas *canvas);

/* Draws all of it. The canvas is empty before. */
void top_view_draw(const struct top_view *view, const struct top_canvas *canvas);
