// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_blocks.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)1 << 30)

static void stop_waiting(struct record_blocks *blocks)
{
	if (blocks->waits)
		loop_unwatch(blocks->loop, &blocks->room);
	blocks->waits = false;
}

/* Writes as much as a pipe with room takes without waiting. */
static void write_part(void *arg)
{
	struct record_blocks *blocks = arg;
	const struct interval_text *text = &blocks->text;
	size_t left = text->text.len - text->taken;
	ssize_t written = write(blocks->file->fd, text->text.data + text->taken,
				left < PIPE_BUF ? left : PIPE_BUF);

	if (written > 0)
		interval_text_take(&blocks->text, (size_t)written);
	else if (written < 0 && errno != EINTR && errno != EAGAIN)
		blocks->error = -errno;
	if (blocks->error || !text->text.len)
		stop_waiting(blocks);
}

/* Writes all that is left. */
static int write_rest(struct record_blocks *blocks)
{
	const struct interval_text *text = &blocks->text;
	size_t left = text->text.len - text->taken;

	stop_waiting(blocks);
	if (!left)
		return 0;
	blocks->error = record_file_append(blocks->file, text->text.data + text->taken, left);
	if (blocks->error == 0)
		interval_text_take(&blocks->text, left);
	return blocks->error;
}

static int write_when_there_is_room(struct record_blocks *blocks)
{
	blocks->room.fd = blocks->file->fd;
	int r = blocks->room.fd < 0 ? -EPERM : loop_watch_room(blocks->loop, &blocks->room);

	if (r == -EPERM) /* a regular file, which always has room */
		return write_rest(blocks);
	blocks->waits = r == 0;
	return r;
}

static void sum_up(struct record_blocks *blocks, const struct render *render)
{
	struct profile_meta told = render->meta;

	told.events += blocks->told.events;
	told.samples += blocks->told.samples;
	told.lost += blocks->told.lost;
	told.left_out += blocks->told.left_out;
	told.truncated += blocks->told.truncated;
	told.processes = 0; /* those of several blocks may be the same */
	blocks->told = told;
	blocks->total += render->total;
	blocks->count++;
}

void record_blocks_begin(struct record_blocks *blocks, struct record_file *file,
			 const struct output *output, struct loop *loop)
{
	*blocks = (struct record_blocks){
		.file = file,
		.loop = loop,
		.output = output,
		.text = INTERVAL_TEXT_INIT(strcmp(output->extension, "folded") != 0),
		.room = {.ready = write_part, .arg = blocks, .name = "record"},
	};
	blocks->text.text.max = TEXT_MAX;
}

int record_blocks_add(struct record_blocks *blocks, const struct render *render, bool is_last)
{
	int r = blocks->error;

	if (r == 0 && is_last)
		r = write_rest(blocks);
	if (r < 0)
		return r;
	if (!interval_text_profile(&blocks->text, blocks->output, &render->meta,
				   &render->content[0])) {
		blocks->missed++;
		return 0;
	}
	sum_up(blocks, render);
	r = buf_error(&blocks->text.text);
	if (r < 0)
		return r;
	return is_last ? write_rest(blocks) : write_when_there_is_room(blocks);
}

void record_blocks_done(struct record_blocks *blocks)
{
	interval_text_done(&blocks->text);
}
