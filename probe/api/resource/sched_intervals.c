// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/resource/sched_resource.h"
#include "api/resource/sched_output.h"
#include "sched/sched.h"

#define TEXT_MAX (64UL * 1024 * 1024) /* one measurement of many groups */

struct intervals {
	struct stream stream;
	struct sched_wait *wait; /* NULL: it is over */
	unsigned left;		 /* measurements still to come; 0: no number ends them */
	bool counted;		 /* a number ends them */
	bool json;
	unsigned missed; /* measurements that were not written: the client reads too slowly */
	struct buf text; /* text not read yet, from `taken` on */
	size_t taken;
};

static ssize_t read_text(struct stream *stream, char *to, size_t bytes)
{
	struct intervals *intervals = (struct intervals *)stream;
	size_t part = intervals->text.len - intervals->taken;

	if (buf_error(&intervals->text))
		return -ENOMEM;
	if (!part)
		return intervals->wait ? 0 : -ENOENT;
	if (part > bytes)
		part = bytes;
	memcpy(to, intervals->text.data + intervals->taken, part);
	intervals->taken += part;
	if (intervals->taken == intervals->text.len) {
		buf_done(&intervals->text); /* many clients may keep as much */
		intervals->text = (struct buf)BUF_INIT(TEXT_MAX);
		intervals->taken = 0;
	}
	return (ssize_t)part;
}

static void free_stream(struct stream *stream)
{
	struct intervals *intervals = (struct intervals *)stream;
	struct sched_wait *wait = intervals->wait;

	intervals->wait = NULL;
	intervals->stream.wake = NULL;
	if (wait)
		sched_wait_cancel(wait);
	buf_done(&intervals->text);
	free(intervals);
}

static void write_missed(struct intervals *intervals)
{
	if (intervals->json)
		buf_printf(&intervals->text, "{\"missed\": %u}\n", intervals->missed);
	else
		buf_printf(&intervals->text,
			   "# %u intervals are missing here: they were not read in time\n",
			   intervals->missed);
	intervals->missed = 0;
}

static void write_interval(struct intervals *intervals, const struct sched_data *data)
{
	if (intervals->taken != intervals->text.len) {
		intervals->missed++;
		return;
	}
	if (intervals->missed)
		write_missed(intervals);
	if (intervals->json)
		sched_json(&intervals->text, data);
	else
		sched_text(&intervals->text, data);
	if (!intervals->json)
		buf_char(&intervals->text, '\n');
}

/* Writes why no more come, if that isn't what was asked for. */
static void write_end(struct intervals *intervals, int error)
{
	const char *why = error == -ESTALE ? "a PUT changed what it counts" : strerror(-error);

	if (error == 0 || error == -ECANCELED)
		return;
	buf_printf(&intervals->text, intervals->json ? "{\"ended\": \"%s\"}\n" : "# the end: %s\n",
		   why);
}

static void interval_ended(void *arg, int error, const struct sched_data *data)
{
	struct intervals *intervals = arg;

	bool is_last = error < 0 || (intervals->counted && --intervals->left == 0);

	if (error == 0)
		write_interval(intervals, data);
	if (is_last) {
		if (intervals->missed)
			write_missed(intervals);
		write_end(intervals, error);
		intervals->wait = NULL;
	}
	/* Before the server reads there is nobody to wake. */
	if (intervals->stream.wake)
		intervals->stream.wake(intervals->stream.arg);
}

int sched_intervals_new(struct stream **ret, struct sched *sched, const struct sched_asking *asking,
			bool json, struct why *why)
{
	struct intervals *intervals = calloc(1, sizeof(*intervals));
	struct sched_asking mine = *asking;

	if (!intervals) {
		why_set(why, "no memory");
		return -ENOMEM;
	}
	*intervals = (struct intervals){
		.stream = {.read = read_text, .free = free_stream},
		.left = asking->times,
		.counted = asking->times != 0,
		.json = json,
		.text = BUF_INIT(TEXT_MAX),
	};
	mine.done = interval_ended;
	mine.arg = intervals;
	int r = sched_wait(sched, &mine, &intervals->wait, why);
	if (r < 0) {
		free_stream(&intervals->stream);
		return r;
	}
	*ret = &intervals->stream;
	return 0;
}
