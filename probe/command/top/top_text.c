// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/top_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A character in UTF-8, with a NUL. */
struct cell {
	char bytes[5];
};

struct text_page {
	unsigned rows, columns;
	struct cell *cells;
};

static void put_on_page(void *arg, unsigned row, unsigned column, enum top_look look,
			const char *text)
{
	struct text_page *page = arg;

	(void)look;
	for (; *text && column < page->columns; column++) {
		struct cell *cell = &page->cells[(size_t)row * page->columns + column];
		size_t len = 1;

		while ((text[len] & 0xc0) == 0x80 && len + 1 < sizeof(cell->bytes))
			len++;
		memcpy(cell->bytes, text, len);
		cell->bytes[len] = '\0';
		text += len;
	}
}

static bool is_blank(const struct cell *cell)
{
	return !cell->bytes[0] || strcmp(cell->bytes, " ") == 0;
}

static void write_row(struct buf *out, const struct cell *cells, unsigned columns)
{
	while (columns && is_blank(&cells[columns - 1]))
		columns--;
	for (unsigned i = 0; i < columns; i++)
		buf_str(out, cells[i].bytes[0] ? cells[i].bytes : " ");
	buf_char(out, '\n');
}

void top_text_draw(struct buf *out, const struct top_view *view, unsigned rows, unsigned columns,
		   bool is_utf8)
{
	_cleanup_free_ struct cell *cells = calloc((size_t)rows * columns + 1, sizeof(*cells));
	struct text_page page = {rows, columns, cells};
	const struct top_canvas canvas = {rows, columns, is_utf8, put_on_page, &page};
	unsigned used = 0;

	if (!cells)
		return;
	top_view_draw(view, &canvas);
	for (unsigned i = 0; i < rows * columns; i++)
		used = is_blank(&cells[i]) ? used : i / columns + 1;
	for (unsigned row = 0; row < used; row++)
		write_row(out, &cells[(size_t)row * columns], columns);
}
