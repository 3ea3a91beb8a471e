/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Long work on the loop's thread, in pieces: between two of them the loop serves others. A piece is
 * short, a few milliseconds at most; what it looks at may have changed since the piece before. Loop
 * thread only.
 */
#pragma once

#include "loop/loop.h"

struct pieces {
	struct loop *loop;
	bool (*piece)(void *arg); /* does a piece; returns false when nothing is left */
	void (*done)(void *arg);  /* is called behind the last piece; may begin the next work */
	void *arg;		  /* of both */
	struct loop_call call;
	bool posted;
};

/* `name`: of the calls (loop/loop.h). */
void pieces_init(struct pieces *pieces, struct loop *loop, const char *name, void *arg);

/* Begins work, later, never inside. The work before has ended. */
void pieces_begin(struct pieces *pieces, bool (*piece)(void *arg), void (*done)(void *arg));

/* Leaves what isn't done. */
void pieces_cancel(struct pieces *pieces);
