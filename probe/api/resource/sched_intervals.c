// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/resource/sched_resource.h"
#include "api/resource/sched_output.h"
#include "output/text/interval_text.h"
#include "sched/sched.h"

struct sched_intervals {
	struct stream stream;
	struct sched_wait *wait; /* NULL: it is over */
	unsigned left;		 /* measurements still to come; 0: no number ends them */
	bool counted;		 /* a number ends them */
	struct interval_text text;
};

static ssize_t read_text(struct stream *stream, char *to, size_t bytes)
{
	struct sched_intervals *intervals = (struct sched_intervals *)stream;

	return interval_text_read(&intervals->text, to, bytes, intervals->wait);
}

static void free_stream(struct stream *stream)
{
	struct sched_intervals *intervals = (struct sched_intervals *)stream;
	struct sched_wait *wait = intervals->wait;

	intervals->wait = NULL;
	intervals->stream.wake = NULL;
	if (wait)
		sched_wait_cancel(wait);
	interval_text_done(&intervals->text);
	free(intervals);
}

static void write_interval(struct sched_intervals *intervals, const struct sched_data *data)
{
	struct buf *out = &intervals->text.text;

	if (!interval_text_begin(&intervals->text))
		return;
	if (intervals->text.json) {
		sched_json(out, data);
	} else {
		sched_text(out, data);
		buf_char(out, '\n');
	}
}

/* Returns why no more come; NULL: that is what was asked for. */
static const char *why_ended(int error)
{
	if (error == 0 || error == -ECANCELED)
		return NULL;
	return error == -ESTALE ? "a PUT changed what it counts" : strerror(-error);
}

static void interval_ended(void *arg, int error, const struct sched_data *data)
{
	struct sched_intervals *intervals = arg;

	bool is_last = error < 0 || (intervals->counted && --intervals->left == 0);

	if (error == 0)
		write_interval(intervals, data);
	if (is_last) {
		interval_text_end(&intervals->text, why_ended(error));
		intervals->wait = NULL;
	}
	/* Before the server reads there is nobody to wake. */
	if (intervals->stream.wake)
		intervals->stream.wake(intervals->stream.arg);
}

int sched_intervals_new(struct stream **ret, struct sched *sched, const struct sched_asking *asking,
			bool json, struct why *why)
{
	struct sched_intervals *intervals = calloc(1, sizeof(*intervals));
	struct sched_asking mine = *asking;

	if (!intervals) {
		why_set(why, "no memory");
		return -ENOMEM;
	}
	*intervals = (struct sched_intervals){
		.stream = {.read = read_text, .free = free_stream},
		.left = asking->times,
		.counted = asking->times != 0,
		.text = INTERVAL_TEXT_INIT(json),
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
