/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A terminal by ncurses, which is loaded with dlopen() when the terminal is opened: no other
 * command needs it. Main thread only.
 */
#pragma once

#include "base/why.h"
#include "command/top/top_view.h"

#define TERMINAL_PACKAGE "libncursesw6" /* of Debian */

/* Keys that are no characters. */
enum terminal_key {
	KEY_IS_NONE = -1, /* none waits */
	KEY_IS_ENTER = 10,
	KEY_IS_ESCAPE = 27,
	KEY_IS_BACK = 127,
	KEY_IS_UP = 0x1000,
	KEY_IS_DOWN,
	KEY_IS_LEFT,
	KEY_IS_RIGHT,
	KEY_IS_PAGE_UP,
	KEY_IS_PAGE_DOWN,
	KEY_IS_HOME,
	KEY_IS_END,
	KEY_IS_OTHER,
};

/*
 * Takes standard input and output as a terminal, without colours if `is_plain`. Returns 0, or a
 * negative errno and a sentence in `why`: no library, no terminal, no such TERM.
 */
int terminal_open(bool is_plain, struct why *why);
/* Gives the terminal back as it was. Nothing if it isn't open. */
void terminal_close(void);

/* Tells that its size has changed. */
void terminal_resize(void);

/* Begins a picture: fills in *canvas, which is empty. */
void terminal_begin(struct top_canvas *canvas);
/* Shows it. */
void terminal_show(void);

/* Returns the next key: a character, or an enum terminal_key. */
int terminal_key(void);
