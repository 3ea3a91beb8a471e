/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The progress line of a recording: one line on the terminal, redrawn in place. */
#pragma once

#include <stdint.h>

struct progress {
	int columns; /* columns of the line on the terminal; 0: there is no line */
};

/* Draws the line on standard error. Does nothing if that is no terminal, or if another job or a
 * full-screen program uses the terminal. */
void progress_draw(struct progress *progress, uint64_t seconds, uint64_t samples, uint64_t lost);

/* Erases the line, if there is one. */
void progress_erase(struct progress *progress);
