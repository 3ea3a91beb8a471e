// SPDX-License-Identifier: GPL-2.0-or-later
/* sender_close(): sends for a while, then writes all bodies that are left to disk. */
#include "upload/sender/sender_state.h"

static void report_end(void *arg)
{
	struct sender *sender = arg;

	sender->end.done(sender->end.arg);
}

/* Cancels the requests, and tries once more to write the bodies that wait in memory. */
static void stop_sending(struct sender *sender)
{
	sender->end.stopped = true;
	sender_take_back(sender);
	if (sender->disk && !disk_is_out(sender->disk)) {
		for (struct entry *entry = sender->queue.oldest; entry; entry = entry->newer) {
			if (entry->state == BODY_WAITING && !entry->on_disk)
				sender_write(sender, entry);
		}
	}
	http_close_idle(sender->http);
}

void sender_abandon(struct sender *sender, uint64_t more)
{
	uint64_t left = more;

	for (const struct entry *entry = sender->queue.oldest; entry; entry = entry->newer)
		left += !entry->on_disk;
	if (!left)
		return;
	sender_log_at_once(&sender->log, SENDER_UNWRITABLE);
	sender_lose(sender, SENDER_UNWRITABLE, left, "the daemon ends");
}

static void end_sender(struct sender *sender)
{
	sender_abandon(sender, 0);
	loop_timer_cancel(sender->loop, &sender->end.timer);
	sender->end.ended = true;
	loop_post(sender->loop, &sender->end.call);
}

void sender_check_end(struct sender *sender)
{
	const size_t *states = sender->queue.states;
	uint64_t now_ns = loop_now_ns();

	if (!sender->end.done || sender->end.ended)
		return;
	/* sender_pump() has just started all requests that may start: if none runs, sending is
	 * over. */
	bool busy = states[BODY_WRITING] || states[BODY_LOADING] || states[BODY_FLYING];
	if (!sender->end.stopped && (!busy || now_ns >= sender->end.send_until_ns))
		stop_sending(sender);
	if (sender->end.stopped &&
	    (!sender->disk || disk_is_idle(sender->disk) || disk_is_out(sender->disk) ||
	     now_ns >= sender->end.write_until_ns))
		end_sender(sender);
	else
		loop_timer_set(sender->loop, &sender->end.timer,
			       sender->end.stopped ? sender->end.write_until_ns
						   : sender->end.send_until_ns);
}

static void end_timer_expired(void *arg)
{
	sender_check_end(arg);
}

void sender_close(struct sender *sender, void (*done)(void *arg), void *arg)
{
	uint64_t now_ns = loop_now_ns();

	for (struct entry *entry = sender->queue.oldest; entry; entry = entry->newer)
		if (!entry->failures)
			entry->not_before_ns = 0;
	sender->end = (struct sender_end){
		.done = done,
		.arg = arg,
		.send_until_ns = now_ns + sender->times.close_ns,
		.write_until_ns = now_ns + 2 * sender->times.close_ns,
		.timer = {.expired = end_timer_expired, .arg = sender, .name = "uploads"},
		.call = {.run = report_end, .arg = sender, .name = "uploads"},
	};
	sender_pump(sender);
}
