// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/pieces.h"

static void post_piece(struct pieces *pieces)
{
	pieces->posted = true;
	loop_post(pieces->loop, &pieces->call);
}

static void run_piece(void *arg)
{
	struct pieces *pieces = arg;

	pieces->posted = false;
	if (pieces->piece(pieces->arg))
		post_piece(pieces);
	else
		pieces->done(pieces->arg);
}

void pieces_init(struct pieces *pieces, struct loop *loop, const char *name, void *arg)
{
	*pieces = (struct pieces){.loop = loop, .arg = arg};
	pieces->call = (struct loop_call){.run = run_piece, .arg = pieces, .name = name};
}

void pieces_begin(struct pieces *pieces, bool (*piece)(void *arg), void (*done)(void *arg))
{
	pieces->piece = piece;
	pieces->done = done;
	post_piece(pieces);
}

void pieces_cancel(struct pieces *pieces)
{
	if (pieces->posted)
		loop_unpost(pieces->loop, &pieces->call);
	pieces->posted = false;
}
