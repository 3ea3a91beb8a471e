// SPDX-License-Identifier: GPL-2.0-or-later
/* `stackprobe top`: what processes cost, as they run. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "command/command.h"
#include "command/core.h"
#include "command/top/terminal.h"
#include "command/top/top_picture.h"
#include "command/top/top_source.h"
#include "command/top/top_text.h"
#include "costs/cost_kind.h"

#define RETRY_NS     NS_PER_S
#define TEXT_COLUMNS 100 /* where output is no terminal */
#define TEXT_MAX     ((size_t)16 << 20)
#define GROUPS	     COST_BY_NONE /* those before it have rows */

struct top {
	struct top_options options;
	struct top_source source;
	struct top_table table;
	struct top_view view;
	struct top_picture picture;
	char host[HOST_NAME_BYTES];
	bool is_terminal;
	bool follows; /* the cursor stays at its row, wherever that goes */
	struct top_owner chosen;
	bool has_read; /* an interval has come */
	bool is_full;  /* it had as many rows as were asked for */
	struct why wrong;
	uint64_t retry_ns; /* 0: it isn't waited for */
	int signals;
	bool is_over, is_changed;
	int status;
};

static void begin_feed(struct top *top);

static void end_top(struct top *top, const char *why)
{
	top->is_over = true;
	if (!why)
		return;
	if (why != top->wrong.text)
		why_set(&top->wrong, "%s", why);
	top->status = EXIT_FAILED;
}

/* ---- the cursor ---- */

static void find_chosen(struct top *top)
{
	struct top_view *view = &top->view;
	ssize_t place = top->follows ? top_table_find(&top->table, &top->chosen) : -ENOENT;

	if (place >= 0)
		view->chosen = (size_t)place;
	if (view->chosen >= top->table.shown)
		view->chosen = top->table.shown ? top->table.shown - 1 : 0;
}

static void move_cursor(struct top *top, long by)
{
	struct top_view *view = &top->view;
	long place = (long)view->chosen + by, last = (long)top->table.shown - 1;

	place = place > last ? last : place;
	view->chosen = place < 0 ? 0 : (size_t)place;
	top->follows = view->chosen > 0;
	if (top->table.shown)
		top->chosen = top->table.rows[view->chosen].owner;
}

/* Moves the part of the table that is shown, so that the cursor is in it. */
static void keep_in_sight(struct top_view *view, unsigned fits)
{
	if (view->chosen < view->first)
		view->first = view->chosen;
	if (fits && view->chosen >= view->first + fits)
		view->first = view->chosen - fits + 1;
}

/* ---- what comes ---- */

static bool prints_text(const struct top *top)
{
	return top->options.once || top->options.json;
}

static unsigned text_columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return TEXT_COLUMNS;
}

static void print_view(struct top *top)
{
	_cleanup_buf_ struct buf out = BUF_INIT(TEXT_MAX);
	unsigned rows = TOP_HEAD_ROWS + top->options.rows + 1;

	setlocale(LC_CTYPE, "");
	top_text_draw(&out, &top->view, rows, text_columns(),
		      strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
	if (buf_error(&out) || fwrite(out.data, 1, out.len, stdout) != out.len ||
	    fflush(stdout) != 0)
		end_top(top, "standard output can't be written");
}

static void print_line(struct top *top, const char *line, size_t bytes)
{
	if (fwrite(line, 1, bytes, stdout) != bytes || putchar('\n') == EOF || fflush(stdout) != 0)
		end_top(top, "standard output can't be written");
	top->has_read = true;
}

static void take_line(void *arg, const char *line, size_t bytes)
{
	struct top *top = arg;
	struct top_reading reading;

	if (top->is_over)
		return;
	if (top->options.json) {
		print_line(top, line, bytes);
		return;
	}
	int r = top_reading_parse(&reading, line, bytes);
	if (r == 0 && !top->view.is_paused)
		r = top_table_take(&top->table, &reading);
	if (r == 0) {
		top->has_read = true;
		top->is_full = reading.count >= TOP_ROWS_ASKED;
		top->wrong.text[0] = '\0';
		find_chosen(top);
	} else if (r < 0) {
		why_set(&top->wrong, "the daemon's answer can't be read: %s", strerror(-r));
	}
	if (r == 0 && top->options.once)
		print_view(top);
	top_reading_done(&reading);
	top->is_changed = true;
}

static void take_end(void *arg, int error, struct buf *body, const char *why)
{
	struct top *top = arg;

	(void)body;
	top->source.feed = NULL;
	top->is_changed = true;
	if (prints_text(top) && top->has_read && top->options.once) {
		end_top(top, NULL);
		return;
	}
	why_set(&top->wrong, "%s", error < 0 ? why : "the daemon has ended its answer");
	if (top->source.own.pid)
		private_daemon_explain(&top->source.own, &top->wrong);
	if (prints_text(top) || top->source.own.pid || !top->has_read)
		end_top(top, top->wrong.text);
	else
		top->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
}

static void begin_feed(struct top *top)
{
	const struct client_asking take = {.line = take_line, .done = take_end, .arg = top};

	top->retry_ns = 0;
	if (top_source_feed(&top->source, &top->options, &take) < 0)
		end_top(top, "no memory");
}

/* ---- keys ---- */

static void change_column(struct top *top, unsigned by)
{
	top->options.column = (top->options.column + by) % TOP_COLUMNS;
	top->table.column = top->options.column;
	top_table_sort(&top->table);
	if (top->is_full)
		begin_feed(top);
}

static void change_group(struct top *top)
{
	top->options.group = (top->options.group + 1) % GROUPS;
	top->view.group = cost_groups[top->options.group];
	top_table_clear(&top->table);
	top->view.chosen = top->view.first = 0;
	top->follows = false;
	begin_feed(top);
}

static void begin_picture(struct top *top, enum probe probe)
{
	const struct top_table *table = &top->table;

	top_picture_begin(&top->picture, top->source.client, probe,
			  table->shown ? &table->rows[top->view.chosen].owner : NULL,
			  cost_groups[top->options.group]);
}

static void take_filter_key(struct top *top, int key)
{
	char *filter = top->table.filter;
	size_t len = strlen(filter);

	if (key == KEY_IS_ENTER || key == KEY_IS_ESCAPE)
		top->view.types_filter = false;
	if (key == KEY_IS_ESCAPE)
		filter[0] = '\0';
	else if (key == KEY_IS_BACK && len)
		filter[len - 1] = '\0';
	else if (key >= ' ' && key < 0x7f && len + 1 < sizeof(top->table.filter)) {
		filter[len] = (char)key;
		filter[len + 1] = '\0';
	}
	top_table_sort(&top->table);
}

static void take_letter(struct top *top, int key)
{
	switch (key) {
	case 'q':
		end_top(top, NULL);
		break;
	case 'r':
		top->table.from_small = !top->table.from_small;
		top_table_sort(&top->table);
		break;
	case 'g':
		change_group(top);
		break;
	case '/':
		top->view.types_filter = true;
		break;
	case 'f':
		begin_picture(top, kind_of_clock());
		break;
	case 'F':
		begin_picture(top, (enum probe)__builtin_ctz(kinds_at_switch()));
		break;
	case ' ':
		top->view.is_paused = !top->view.is_paused;
		break;
	case '?':
	case 'h':
		top->view.shows_help = true;
		break;
	default:
		break;
	}
}

static void take_key(struct top *top, int key)
{
	struct top_canvas canvas;

	top->is_changed = true;
	if (top->view.types_filter) {
		take_filter_key(top, key);
		return;
	}
	if (top->view.shows_help) {
		top->view.shows_help = false;
		return;
	}
	terminal_begin(&canvas);
	long page = (long)top_view_fits(&canvas), all = (long)top->table.shown;
	if (key == KEY_IS_UP || key == KEY_IS_DOWN)
		move_cursor(top, key == KEY_IS_UP ? -1 : 1);
	else if (key == KEY_IS_PAGE_UP || key == KEY_IS_PAGE_DOWN)
		move_cursor(top, key == KEY_IS_PAGE_UP ? -page : page);
	else if (key == KEY_IS_HOME || key == KEY_IS_END)
		move_cursor(top, key == KEY_IS_HOME ? -all : all);
	else if (key == KEY_IS_LEFT || key == KEY_IS_RIGHT)
		change_column(top, key == KEY_IS_LEFT ? TOP_COLUMNS - 1 : 1);
	else
		take_letter(top, key);
}

static void take_signal(struct top *top)
{
	struct signalfd_siginfo info;

	while (read(top->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH && top->is_terminal)
			terminal_resize();
		else if (info.ssi_signo != SIGWINCH)
			end_top(top, NULL);
		top->is_changed = true;
	}
}

/* ---- the command ---- */

static void draw_view(struct top *top)
{
	struct top_canvas canvas;

	top->is_changed = false;
	find_chosen(top);
	top->view.message = top->picture.message;
	terminal_begin(&canvas);
	keep_in_sight(&top->view, top_view_fits(&canvas));
	top_view_draw(&top->view, &canvas);
	terminal_show();
}

static void run_top(struct top *top)
{
	int fds[] = {top->signals, STDIN_FILENO};

	begin_feed(top);
	while (!top->is_over) {
		client_wait(top->source.client, fds, top->is_terminal ? 2 : 1, 1000);
		take_signal(top);
		for (int key;
		     top->is_terminal && !top->is_over && (key = terminal_key()) != KEY_IS_NONE;)
			take_key(top, key);
		if (top->retry_ns && clock_ns(CLOCK_MONOTONIC) >= top->retry_ns)
			begin_feed(top);
		if (top->is_terminal && top->is_changed)
			draw_view(top);
	}
}

static int open_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static void prepare_view(struct top *top)
{
	const struct top_options *options = &top->options;

	gethostname(top->host, sizeof(top->host) - 1);
	top->table.column = options->column;
	if (options->filter)
		snprintf(top->table.filter, sizeof(top->table.filter), "%s", options->filter);
	top->view = (struct top_view){
		.table = &top->table,
		.host = top->host,
		.source = top->source.name,
		.group = cost_groups[options->group],
		.message = "",
		.wrong = top->wrong.text,
		.has_cursor = !prints_text(top),
	};
}

static int open_top(struct top *top)
{
	int r = top_source_open(&top->source, &top->options, &top->wrong);

	if (r < 0)
		return r;
	top->wrong.text[0] = '\0';
	prepare_view(top);
	top->signals = open_signals();
	if (top->signals < 0 || prints_text(top))
		return top->signals < 0 ? top->signals : 0;
	r = terminal_open(top->options.is_plain, &top->wrong);
	top->is_terminal = r == 0;
	return r;
}

int top_command(int argc, char **argv)
{
	struct top top = {.signals = -1};
	int r = top_options_parse(argc, argv, &top.options);

	if (r >= 0)
		return r;
	if (open_top(&top) < 0)
		top.status = EXIT_FAILED;
	else
		run_top(&top);
	terminal_close();
	top_source_close(&top.source);
	top_table_clear(&top.table);
	if (top.signals >= 0)
		close(top.signals);
	if (top.status)
		fprintf(stderr, "stackprobe: %s\n", top.wrong.text);
	return top.status;
}
