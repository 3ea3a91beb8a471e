// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/top_view.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

#define LINE_BYTES   512
#define NUMBER_WIDTH 8 /* of "PID", with the blank behind it */
#define NAME_WIDTH   16
#define CELL_WIDTH   7
#define OTHER_WIDTH  14 /* of the container, at least */
#define SPARK_STEPS  8

static const char *const keys_help[] = {
	"Left Right     sort by the column before, the next one",
	"r              the smallest first, or the largest",
	"Up Down PgUp PgDn Home End   move the cursor",
	"g              rows are processes, names, containers, pods, cgroups",
	"/              filter by name, container or pid; Enter keeps it, Esc removes it",
	"f  F           flame graph of the row's processes: 10 s on the CPU, off the CPU",
	"Space          pause",
	"q              quit",
};

/* Writes a text, cut where the canvas ends. */
__attribute__((format(printf, 5, 6))) static void put_text(const struct top_canvas *canvas,
							   unsigned row, unsigned column,
							   enum top_look look, const char *format,
							   ...)
{
	char text[LINE_BYTES];
	va_list arguments;

	if (row >= canvas->rows || column >= canvas->columns)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (strlen(text) > canvas->columns - column)
		text[canvas->columns - column] = '\0';
	canvas->put(canvas->arg, row, column, look, text);
}

/* Writes a line of small bars, from the oldest to the latest value. */
static void put_spark(const struct top_canvas *canvas, unsigned row, unsigned column,
		      enum top_look look, const double *values, size_t stride, double largest)
{
	static const char *const blocks[SPARK_STEPS + 1] = {" ",      "\u2581", "\u2582",
							    "\u2583", "\u2584", "\u2585",
							    "\u2586", "\u2587", "\u2588"};
	static const char *const ascii[SPARK_STEPS + 1] = {" ", ".", ".", ":", "-",
							   "=", "+", "*", "#"};
	char text[TOP_PAST * 4] = "";
	size_t len = 0;

	if (row >= canvas->rows || column + TOP_PAST > canvas->columns)
		return;
	for (size_t i = 0; i < TOP_PAST; i++) {
		double share = largest > 0 ? values[i * stride] / largest : 0;
		int step = share > 0 ? 1 + (int)(share * (SPARK_STEPS - 1) + 0.5) : 0;

		step = step > SPARK_STEPS ? SPARK_STEPS : step;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
					canvas->is_utf8 ? blocks[step] : ascii[step]);
	}
	canvas->put(canvas->arg, row, column, look, text);
}

/* ---- the head ---- */

static double percent_of(uint64_t part, uint64_t of)
{
	return of ? 100 * (double)part / (double)of : 0;
}

static void put_host(const struct top_view *view, const struct top_canvas *canvas)
{
	const struct top_table *table = view->table;
	const struct top_reading *last = &table->last;
	time_t until = (time_t)last->until_s;
	struct tm tm;
	char time_text[16] = "--:--:--";

	if (last->until_s > 0 && localtime_r(&until, &tm))
		strftime(time_text, sizeof(time_text), "%H:%M:%S", &tm);
	put_text(canvas, 0, 0, LOOK_BOLD, "stackprobe top  %s  %s%s", view->host, time_text,
		 view->is_paused ? "  (paused)" : "");
	put_text(canvas, 1, 0, LOOK_PLAIN, "CPUs %llu  busy %5.1f%%",
		 (unsigned long long)last->cpus, 100 * table->busy[TOP_PAST - 1]);
	put_spark(canvas, 1, 24, LOOK_BUSY, table->busy, 1, 1);
	put_text(canvas, 1, 36, LOOK_PLAIN, "iowait %.1f%%  interrupts %.1f%%  steal %.1f%%",
		 percent_of(last->iowait_ns, last->wall_ns),
		 percent_of(last->interrupts_ns, last->wall_ns),
		 percent_of(last->steal_ns, last->wall_ns));
}

static void put_state(const struct top_view *view, const struct top_canvas *canvas)
{
	const struct top_table *table = view->table;

	if (view->wrong[0]) {
		put_text(canvas, 2, 0, LOOK_BOLD, "%s", view->wrong);
		return;
	}
	put_text(canvas, 2, 0, LOOK_PLAIN, "%zu %s by %s, sorted by %s%s%s%s; from %s%s",
		 table->shown, table->shown == 1 ? "row" : "rows", view->group,
		 top_columns[table->column].name, table->from_small ? ", smallest first" : "",
		 table->filter[0] ? "; filter " : "", table->filter, view->source,
		 table->last.lost ? "; ends of some processes are missing" : "");
}

/* ---- the table ---- */

/* Where the columns stand. */
struct top_layout {
	bool by_pid, has_container;
	unsigned name_width;
	unsigned cells[TOP_COLUMNS], cells_count;
	unsigned spark, first_cell, container; /* columns of the canvas */
};

static bool has_containers(const struct top_table *table)
{
	for (size_t i = 0; i < table->shown; i++) {
		if (table->rows[i].owner.container[0])
			return true;
	}
	return false;
}

/* Chooses the columns that fit; that by which rows are sorted is always one of them. */
static struct top_layout lay_out(const struct top_view *view, const struct top_canvas *canvas)
{
	const struct top_table *table = view->table;
	struct top_layout layout = {
		.by_pid = strcmp(view->group, "pid") == 0,
		.name_width = NAME_WIDTH,
	};
	bool has_sorted = false;

	layout.has_container = layout.by_pid && has_containers(table);
	if (!layout.by_pid)
		layout.name_width = canvas->columns > 100 ? 3 * NAME_WIDTH : 2 * NAME_WIDTH;
	layout.spark = NUMBER_WIDTH + layout.name_width;
	layout.first_cell = layout.spark + TOP_PAST;
	unsigned used = layout.first_cell + (layout.has_container ? OTHER_WIDTH : 0);
	unsigned fits = canvas->columns > used ? (canvas->columns - used) / CELL_WIDTH : 0;
	if (!fits)
		fits = 1;
	for (unsigned i = 0; i < TOP_COLUMNS && layout.cells_count < fits; i++) {
		layout.cells[layout.cells_count++] = i;
		has_sorted = has_sorted || i == table->column;
	}
	if (!has_sorted)
		layout.cells[layout.cells_count - 1] = table->column;
	layout.container = layout.first_cell + layout.cells_count * CELL_WIDTH + 2;
	return layout;
}

static void put_titles(const struct top_view *view, const struct top_canvas *canvas,
		       const struct top_layout *layout)
{
	const struct top_table *table = view->table;
	unsigned row = TOP_HEAD_ROWS - 1;

	put_text(canvas, row, 0, LOOK_HEAD, "%*s", (int)canvas->columns, "");
	put_text(canvas, row, 0, LOOK_HEAD, "%*s %s", NUMBER_WIDTH - 1,
		 layout->by_pid ? "PID" : "PROCS", layout->by_pid ? "NAME" : view->group);
	put_text(canvas, row, layout->spark, LOOK_HEAD, "%.*s, %d s", TOP_PAST - 6,
		 top_columns[table->column].title, TOP_PAST);
	for (unsigned i = 0; i < layout->cells_count; i++) {
		bool is_key = layout->cells[i] == table->column;

		put_text(canvas, row, layout->first_cell + i * CELL_WIDTH,
			 is_key ? LOOK_CHOSEN : LOOK_HEAD, "%*s", CELL_WIDTH,
			 top_columns[layout->cells[i]].title);
	}
	if (layout->has_container)
		put_text(canvas, row, layout->container, LOOK_HEAD, "CONTAINER");
}

/* Returns the name that a row has in the table. */
static const char *name_of(const struct top_row *row, const struct top_layout *layout)
{
	if (row->owner.name[0])
		return row->owner.name;
	return layout->by_pid ? "(ended before)" : "(none)";
}

/* Returns the end of a name that has no room: of paths and pods that tells more than the begin. */
static const char *end_of(const char *name, const struct top_layout *layout)
{
	size_t len = strlen(name), room = layout->name_width - 1;

	return !layout->by_pid && len > room ? name + len - room : name;
}

static void put_cells(const struct top_view *view, const struct top_canvas *canvas,
		      const struct top_layout *layout, const struct top_row *row, unsigned line,
		      enum top_look look)
{
	uint32_t known = view->table->last.known;

	for (unsigned i = 0; i < layout->cells_count; i++) {
		unsigned column = layout->cells[i];
		char cell[TOP_CELL_BYTES] = "-";

		if (top_columns[column].values & known)
			top_cell_write(cell, column, top_row_now(row, column));
		put_text(canvas, line, layout->first_cell + i * CELL_WIDTH, look, "%*s", CELL_WIDTH,
			 cell);
	}
}

static void put_row(const struct top_view *view, const struct top_canvas *canvas,
		    const struct top_layout *layout, size_t place, unsigned line, double largest)
{
	const struct top_row *row = &view->table->rows[place];
	unsigned column = view->table->column;
	unsigned long long number =
		layout->by_pid ? (unsigned long long)row->owner.pid : row->owner.processes;
	enum top_look look = row->owner.is_kernel || row->owner.has_ended ? LOOK_DIM : LOOK_PLAIN;

	if (view->has_cursor && place == view->chosen) {
		look = LOOK_CHOSEN;
		put_text(canvas, line, 0, look, "%*s", (int)canvas->columns, "");
	}
	if (number)
		put_text(canvas, line, 0, look, "%*llu ", NUMBER_WIDTH - 1, number);
	put_text(canvas, line, NUMBER_WIDTH, look, "%-*.*s", (int)layout->name_width,
		 (int)layout->name_width - 1, end_of(name_of(row, layout), layout));
	put_spark(canvas, line, layout->spark, look == LOOK_PLAIN ? LOOK_BUSY : look,
		  &row->past[0][column], TOP_COLUMNS, largest);
	put_cells(view, canvas, layout, row, line, look);
	if (layout->has_container)
		put_text(canvas, line, layout->container, look, "%s", row->owner.container);
}

/* Returns the value of a full bar: the largest of all rows; of times, one CPU at least. */
static double largest_of(const struct top_table *table)
{
	double largest = top_columns[table->column].is_time ? 1e9 : 0;

	for (size_t i = 0; i < table->shown; i++) {
		for (int past = 0; past < TOP_PAST; past++) {
			double value = table->rows[i].past[past][table->column];

			largest = value > largest ? value : largest;
		}
	}
	return largest;
}

unsigned top_view_fits(const struct top_canvas *canvas)
{
	return canvas->rows > TOP_HEAD_ROWS + 1 ? canvas->rows - TOP_HEAD_ROWS - 1 : 0;
}

static void put_table(const struct top_view *view, const struct top_canvas *canvas)
{
	struct top_layout layout = lay_out(view, canvas);
	double largest = largest_of(view->table);

	put_titles(view, canvas, &layout);
	for (unsigned i = 0; i < top_view_fits(canvas); i++) {
		if (view->first + i < view->table->shown)
			put_row(view, canvas, &layout, view->first + i, TOP_HEAD_ROWS + i, largest);
	}
}

static void put_help(const struct top_canvas *canvas)
{
	unsigned row = TOP_HEAD_ROWS - 1;

	put_text(canvas, row, 0, LOOK_HEAD, "%-*s", (int)canvas->columns,
		 "KEYS; any key goes back");
	for (size_t i = 0; i < ARRAY_SIZE(keys_help); i++)
		put_text(canvas, ++row, 2, LOOK_PLAIN, "%s", keys_help[i]);
	put_text(canvas, ++row, 0, LOOK_HEAD, "%-*s", (int)canvas->columns,
		 "COLUMNS; but for times, a second");
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		put_text(canvas, ++row, 2, LOOK_PLAIN, "%-7s %s", top_columns[i].title,
			 top_columns[i].what);
}

static void put_last_line(const struct top_view *view, const struct top_canvas *canvas)
{
	unsigned row = canvas->rows - 1;

	if (view->types_filter)
		put_text(canvas, row, 0, LOOK_BOLD, "filter: %s_", view->table->filter);
	else if (view->message[0])
		put_text(canvas, row, 0, LOOK_BOLD, "%s", view->message);
	else if (view->has_cursor)
		put_text(canvas, row, 0, LOOK_DIM,
			 "q quit  Left/Right sort  g group  / filter  f flame graph  ? help");
}

void top_view_draw(const struct top_view *view, const struct top_canvas *canvas)
{
	if (!canvas->rows || !canvas->columns)
		return;
	put_host(view, canvas);
	put_state(view, canvas);
	if (view->shows_help)
		put_help(canvas);
	else
		put_table(view, canvas);
	put_last_line(view, canvas);
}
