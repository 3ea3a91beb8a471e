// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/processes/proc_output.h"
#include "api/processes/proc_resource.h"
#include "base/cleanup.h"
#include "output/text/interval_text.h"

struct proc_intervals {
	struct stream stream;
	struct cost_wait *wait; /* NULL: it is over */
	unsigned left;		/* measurements still to come; 0: no number ends them */
	bool counted;		/* a number ends them */
	const struct proc_form *form;
	struct proc_choice choice;
	struct interval_text text;
};

static ssize_t read_text(struct stream *stream, char *to, size_t bytes)
{
	struct proc_intervals *intervals = (struct proc_intervals *)stream;

	return interval_text_read(&intervals->text, to, bytes, intervals->wait);
}

static void free_stream(struct stream *stream)
{
	struct proc_intervals *intervals = (struct proc_intervals *)stream;

	intervals->stream.wake = NULL;
	if (intervals->wait)
		cost_wait_cancel(intervals->wait); /* has interval_ended() called */
	interval_text_done(&intervals->text);
	free(intervals);
}

static void write_interval(struct proc_intervals *intervals, const struct cost_answer *costs)
{
	_cleanup_buf_ struct buf content = BUF_INIT(INTERVAL_TEXT_MAX);

	if (!interval_text_begin(&intervals->text))
		return;
	intervals->form->write(&content, costs, &intervals->choice);
	if (intervals->form->is_document) {
		interval_text_line(&intervals->text, &content);
		return;
	}
	buf_add(&intervals->text.text, content.data, content.len);
	if (!intervals->text.json)
		buf_char(&intervals->text.text, '\n');
}

static void interval_ended(void *arg, int error, const struct cost_answer *costs)
{
	struct proc_intervals *intervals = arg;
	bool is_last = error < 0 || (intervals->counted && --intervals->left == 0);

	if (error == 0)
		write_interval(intervals, costs);
	if (is_last) {
		interval_text_end(&intervals->text,
				  error == 0 || error == -ECANCELED ? NULL : strerror(-error));
		intervals->wait = NULL;
	}
	/* Before the server reads there is nobody to wake. */
	if (intervals->stream.wake)
		intervals->stream.wake(intervals->stream.arg);
}

int proc_intervals_new(struct stream **ret, struct accounting *accounting,
		       const struct cost_asking *asking, const struct proc_choice *choice,
		       const struct proc_form *form, struct why *why)
{
	struct proc_intervals *intervals = calloc(1, sizeof(*intervals));
	struct cost_asking mine = *asking;

	if (!intervals) {
		why_set(why, "no memory");
		return -ENOMEM;
	}
	*intervals = (struct proc_intervals){
		.stream = {.read = read_text, .free = free_stream},
		.left = asking->times,
		.counted = asking->times != 0,
		.form = form,
		.choice = *choice,
		.text = INTERVAL_TEXT_INIT(form->is_json),
	};
	mine.done = interval_ended;
	mine.arg = intervals;
	int r = accounting_read(accounting, &mine, &intervals->wait, why);
	if (r < 0) {
		free_stream(&intervals->stream);
		return r;
	}
	*ret = &intervals->stream;
	return 0;
}
