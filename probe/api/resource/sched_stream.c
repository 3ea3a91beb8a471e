// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/resource/sched_resource.h"
#include "api/resource/sched_output.h"
#include "sched/sched.h"

#define TEXT_MAX 1024 /* the head, or a line and the note before it */

struct slow_stream {
	struct stream stream;
	struct sched_follower *follower;
	struct buf text; /* text not read yet, from `taken` on */
	size_t taken;
};

/* Writes the next line. Returns 0 if there is none now; negative: no more come. */
static int next_line(struct slow_stream *slow)
{
	struct slow_entry entry;
	uint64_t missed;
	int r = sched_follower_next(slow->follower, &entry, &missed);

	slow->taken = slow->text.len = 0;
	if (missed)
		buf_printf(&slow->text,
			   "# %llu are missing here: they came faster than they were read\n",
			   (unsigned long long)missed);
	if (r > 0)
		sched_text_slow(&slow->text, &entry);
	return buf_error(&slow->text) ? -ENOMEM : r;
}

static ssize_t read_lines(struct stream *stream, char *to, size_t bytes)
{
	struct slow_stream *slow = (struct slow_stream *)stream;
	size_t filled = 0;

	while (filled < bytes) {
		size_t part = slow->text.len - slow->taken;

		if (!part) {
			int r = next_line(slow);

			if (r <= 0)
				return filled || r == 0 ? (ssize_t)filled : r;
			continue;
		}
		if (part > bytes - filled)
			part = bytes - filled;
		memcpy(to + filled, slow->text.data + slow->taken, part);
		slow->taken += part;
		filled += part;
	}
	return (ssize_t)filled;
}

static void free_stream(struct stream *stream)
{
	struct slow_stream *slow = (struct slow_stream *)stream;

	if (slow->follower)
		sched_unfollow(slow->follower);
	buf_done(&slow->text);
	free(slow);
}

/* Before the server reads there is nobody to wake. */
static void wake_stream(void *arg)
{
	struct slow_stream *slow = arg;

	if (slow->stream.wake)
		slow->stream.wake(slow->stream.arg);
}

int sched_stream_new(struct stream **ret, struct sched *sched, enum sched_probe probe)
{
	struct slow_stream *slow = calloc(1, sizeof(*slow));

	if (!slow)
		return -ENOMEM;
	slow->stream = (struct stream){.read = read_lines, .free = free_stream};
	slow->text = (struct buf)BUF_INIT(TEXT_MAX);
	sched_text_slow_head(&slow->text, probe);
	int r = sched_follow(sched, probe, wake_stream, slow, &slow->follower);
	if (r < 0) {
		free_stream(&slow->stream);
		return r;
	}
	*ret = &slow->stream;
	return 0;
}
