// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/resource/flamegraph_intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/text/interval_text.h"

struct flamegraph_intervals {
	struct stream stream;
	struct ondemand *session; /* NULL: it is over */
	unsigned left;		  /* intervals still to come; 0: no number ends them */
	bool counted;		  /* a number ends them */
	const struct output *output;
	struct interval_text text;
};

static ssize_t read_text(struct stream *stream, char *to, size_t bytes)
{
	struct flamegraph_intervals *intervals = (struct flamegraph_intervals *)stream;

	return interval_text_read(&intervals->text, to, bytes, intervals->session);
}

static void free_stream(struct stream *stream)
{
	struct flamegraph_intervals *intervals = (struct flamegraph_intervals *)stream;

	intervals->stream.wake = NULL;
	if (intervals->session)
		ondemand_cancel(intervals->session); /* has interval_ended() called */
	interval_text_done(&intervals->text);
	free(intervals);
}

static void interval_ended(void *arg, int error, const struct profile_meta *meta,
			   struct buf *content)
{
	struct flamegraph_intervals *intervals = arg;
	bool is_last = error < 0 || (intervals->counted && --intervals->left == 0);

	if (error == 0)
		interval_text_profile(&intervals->text, intervals->output, meta, content);
	if (is_last) {
		interval_text_end(&intervals->text,
				  error == 0 || error == -ECANCELED ? NULL : strerror(-error));
		intervals->session = NULL;
	}
	/* Before the server reads there is nobody to wake. */
	if (intervals->stream.wake)
		intervals->stream.wake(intervals->stream.arg);
}

int flamegraph_intervals_new(struct stream **ret, struct ondemands *ondemands,
			     const struct ondemand_request *asking, struct why *why)
{
	struct flamegraph_intervals *intervals = calloc(1, sizeof(*intervals));
	struct ondemand_request mine = *asking;

	if (!intervals) {
		why_set(why, "no memory");
		return -ENOMEM;
	}
	*intervals = (struct flamegraph_intervals){
		.stream = {.read = read_text, .free = free_stream},
		.left = asking->times,
		.counted = asking->times != 0,
		.output = asking->output,
		.text = INTERVAL_TEXT_INIT(strcmp(asking->output->extension, "folded") != 0),
	};
	mine.header = true;
	mine.interval = interval_ended;
	mine.arg = intervals;
	int r = ondemand_start(ondemands, &mine, &intervals->session, why);
	if (r < 0) {
		free_stream(&intervals->stream);
		return r;
	}
	*ret = &intervals->stream;
	return 0;
}
