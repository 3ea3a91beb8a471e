// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/terminal.h"

#define NCURSES_NOMACROS
#include <curses.h>
#include <dlfcn.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The function's own declaration is in curses.h. */
#define FUNCTION_LIST(X)                                                                           \
	X(COLOR_PAIR)                                                                              \
	X(cbreak)                                                                                  \
	X(curs_set)                                                                                \
	X(delscreen)                                                                               \
	X(endwin)                                                                                  \
	X(getmaxx)                                                                                 \
	X(getmaxy)                                                                                 \
	X(has_colors)                                                                              \
	X(init_pair)                                                                               \
	X(keypad)                                                                                  \
	X(newterm)                                                                                 \
	X(nodelay)                                                                                 \
	X(noecho)                                                                                  \
	X(resizeterm)                                                                              \
	X(set_escdelay)                                                                            \
	X(start_color)                                                                             \
	X(use_default_colors)                                                                      \
	X(waddnstr)                                                                                \
	X(wattrset)                                                                                \
	X(werase)                                                                                  \
	X(wgetch)                                                                                  \
	X(wmove)                                                                                   \
	X(wrefresh)

#define MEMBER(name) __typeof__(name) *name;
static struct {
	FUNCTION_LIST(MEMBER)
	WINDOW **stdscr;
} curses;

#define NAMED(name) {#name, offsetof(__typeof__(curses), name)},
static const struct {
	const char *name;
	size_t offset;
} symbols[] = {FUNCTION_LIST(NAMED) NAMED(stdscr)};

static SCREEN *screen; /* NULL: it isn't open */
static bool has_colours;

static bool load_library(void)
{
	void *library = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol)
			return false;
		memcpy((char *)&curses + symbols[i].offset, &symbol, sizeof(symbol));
	}
	return true;
}

int terminal_open(bool is_plain, struct why *why)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		why_set(why, "this is no terminal: ask with --once, or --json");
		return -ENOTTY;
	}
	if (!load_library()) {
		why_set(why,
			"ncurses can't be loaded (Debian's package %s); --once and --json "
			"work without",
			TERMINAL_PACKAGE);
		return -ENOENT;
	}
	setlocale(LC_CTYPE, "");
	screen = curses.newterm(NULL, stdout, stdin);
	if (!screen) {
		why_set(why, "TERM names no terminal that ncurses knows");
		return -ENOTTY;
	}
	curses.cbreak();
	curses.noecho();
	curses.set_escdelay(50);
	curses.curs_set(0);
	curses.keypad(*curses.stdscr, true);
	curses.nodelay(*curses.stdscr, true);
	has_colours = !is_plain && curses.has_colors() && curses.start_color() == OK &&
		      curses.use_default_colors() == OK &&
		      curses.init_pair(1, COLOR_GREEN, -1) == OK;
	return 0;
}

void terminal_close(void)
{
	if (!screen)
		return;
	curses.endwin();
	curses.delscreen(TAKE_PTR(screen));
}

void terminal_resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		curses.resizeterm(size.ws_row, size.ws_col);
}

static void put_on_screen(void *arg, unsigned row, unsigned column, enum top_look look,
			  const char *text)
{
	static const int looks[] = {
		[LOOK_BOLD] = A_BOLD,	 [LOOK_DIM] = A_DIM,
		[LOOK_HEAD] = A_REVERSE, [LOOK_CHOSEN] = A_REVERSE | A_BOLD,
		[LOOK_BUSY] = A_NORMAL,
	};
	int attributes = looks[look];

	(void)arg;
	if (look == LOOK_BUSY && has_colours)
		attributes |= curses.COLOR_PAIR(1);
	curses.wattrset(*curses.stdscr, attributes);
	if (curses.wmove(*curses.stdscr, (int)row, (int)column) == OK)
		curses.waddnstr(*curses.stdscr, text, -1);
	curses.wattrset(*curses.stdscr, A_NORMAL);
}

void terminal_begin(struct top_canvas *canvas)
{
	curses.werase(*curses.stdscr);
	*canvas = (struct top_canvas){
		.rows = (unsigned)curses.getmaxy(*curses.stdscr),
		.columns = (unsigned)curses.getmaxx(*curses.stdscr),
		.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.put = put_on_screen,
	};
}

void terminal_show(void)
{
	curses.wrefresh(*curses.stdscr);
}

int terminal_key(void)
{
	static const struct {
		int code, key;
	} keys[] = {
		{ERR, KEY_IS_NONE},
		{'\r', KEY_IS_ENTER},
		{KEY_ENTER, KEY_IS_ENTER},
		{8, KEY_IS_BACK},
		{KEY_BACKSPACE, KEY_IS_BACK},
		{KEY_UP, KEY_IS_UP},
		{KEY_DOWN, KEY_IS_DOWN},
		{KEY_LEFT, KEY_IS_LEFT},
		{KEY_RIGHT, KEY_IS_RIGHT},
		{KEY_PPAGE, KEY_IS_PAGE_UP},
		{KEY_NPAGE, KEY_IS_PAGE_DOWN},
		{KEY_HOME, KEY_IS_HOME},
		{KEY_END, KEY_IS_END},
	};
	int code = curses.wgetch(*curses.stdscr);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (code == keys[i].code)
			return keys[i].key;
	}
	return code > 0 && code < 0x100 ? code : KEY_IS_OTHER;
}
