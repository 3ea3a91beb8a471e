// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends bodies: chooses the next one, posts it, and acts on the answer. */
#include "upload/sender/sender_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "upload/sender/sender_answer.h"
#include "upload/http/server_url.h"

static size_t under_way(const struct sender *sender)
{
	return sender->queue.states[BODY_LOADING] + sender->queue.states[BODY_FLYING];
}

/* Whether another request may begin beside `beside` others. */
static bool has_room(const struct sender *sender, size_t beside)
{
	return beside < (sender->backoff.failing ? 1 : HTTP_AT_ONCE);
}

/* ---- answers ---- */

static void note_failure(struct sender *sender, const struct entry *entry,
			 const struct http_answer *answer)
{
	char text[HTTP_TEXT_MAX];
	bool was_failing = sender->stats.failing;

	answer_text(answer, text, sizeof(text));
	sender_log_words(sender->url, answer->status, answer->text, entry->body->texts.what);
	snprintf(sender->stats.last_failure, sizeof(sender->stats.last_failure), "%.100s: %.400s",
		 entry->body->texts.what, text);
	sender->stats.failing = sender->backoff.failing;
	if (sender->backoff.failing && !was_failing)
		sender_log_failing(&sender->log, sender->url, text);
}

/* Notes that the server took a body or refused it. */
static void note_well(struct sender *sender)
{
	if (sender->stats.failing && !sender->backoff.failing)
		sender_log_well(&sender->log, sender->url, sender->queue.count - 1);
	sender->stats.failing = sender->backoff.failing;
}

static void entry_stored(struct sender *sender, struct entry *entry)
{
	sender->stats.stored++;
	sender->stats.stored_bytes += entry->body->bytes;
	sender->stats.last_stored_ns = loop_real_ns();
	backoff_answered(&sender->backoff, entry->begun_ns);
	note_well(sender);
	sender_remove(sender, entry);
}

static void entry_refused(struct sender *sender, struct entry *entry,
			  const struct http_answer *answer)
{
	char why[HTTP_TEXT_MAX];

	sender->stats.lost[SENDER_REFUSED]++;
	backoff_answered(&sender->backoff, entry->begun_ns);
	note_failure(sender, entry, answer);
	answer_text(answer, why, sizeof(why));
	sender_log_refusal(&sender->log, sender->url, answer->status, why, entry->body->texts.what);
	sender_remove(sender, entry);
}

static void entry_failed(struct sender *sender, struct entry *entry,
			 const struct http_answer *answer)
{
	struct backoff *backoff = &sender->backoff;
	uint64_t now_ns = loop_now_ns(), told_ns = answer->retry_after_s * NS_PER_S;
	bool is_server = answer_verdict(answer) == VERDICT_SERVER;

	if (is_server)
		backoff_server_failed(backoff, entry->begun_ns, now_ns, told_ns);
	else
		backoff_body_failed(backoff, entry->begun_ns, now_ns);
	/* Any answer may be meant for this body alone. A body that can't be sent counts too, or it
	 * would be the only one that is tried. */
	entry->failures++;
	if (answer->outcome != HTTP_NOT_SENT)
		entry->not_before_ns =
			now_ns + backoff_wait_ns(backoff, entry->failures, sender->times.most_ns,
						 is_server ? 0 : told_ns);
	note_failure(sender, entry, answer);
	sender_put_back(sender, entry);
}

/* Notes that the server may just have stored the body; all such times but the first are counted. */
static void note_maybe(struct sender *sender, struct entry *entry)
{
	sender->stats.maybe_twice += entry->maybe_stored;
	entry->maybe_stored = true;
}

static void entry_answered(void *arg, const struct http_answer *answer)
{
	struct entry *entry = arg;
	struct sender *sender = entry->sender;

	entry->call = NULL;
	if (answer_may_be_stored(answer))
		note_maybe(sender, entry);
	switch (answer_verdict(answer)) {
	case VERDICT_STORED:
		entry_stored(sender, entry);
		break;
	case VERDICT_REFUSED:
		entry_refused(sender, entry, answer);
		break;
	default:
		entry_failed(sender, entry, answer);
	}
	sender_pump(sender);
}

/* ---- requests ---- */

static int post_entry(struct sender *sender, struct entry *entry)
{
	_cleanup_free_ char *url = NULL;
	const struct body *body = entry->body;

	if (asprintf(&url, "%s%s", sender->url, body->texts.target) < 0) {
		url = NULL;
		return -ENOMEM;
	}
	struct http_post request = {
		.url = url,
		.content_type = body->texts.content_type,
		.auth = auth_http(sender->auth),
		.body = body->data,
		.body_bytes = body->bytes,
		.stays_here = server_is_loopback(sender->url),
		.timeout_ms = (unsigned)(sender->times.request_ns / NS_PER_MS),
		.done = entry_answered,
		.arg = entry,
	};
	return http_post(sender->http, &request, &entry->call);
}

static void send_entry(struct sender *sender, struct entry *entry)
{
	int r = post_entry(sender, entry);

	entry->begun_ns = loop_now_ns();
	if (r < 0) {
		entry->failures++;
		entry->not_before_ns =
			entry->begun_ns + backoff_wait_ns(&sender->backoff, entry->failures,
							  sender->times.most_ns, 0);
		snprintf(sender->stats.last_failure, sizeof(sender->stats.last_failure),
			 "%.100s: %s", entry->body->texts.what, strerror(-r));
		sender_put_back(sender, entry);
		return;
	}
	queue_set(&sender->queue, entry, BODY_FLYING, entry->on_disk);
	sender->stats.retries += entry->tried;
	entry->tried = true;
}

void sender_take_back(struct sender *sender)
{
	struct entry *newer;

	for (struct entry *entry = sender->queue.oldest; entry; entry = newer) {
		newer = entry->newer;
		if (entry->state != BODY_FLYING)
			continue;
		if (http_cancel(TAKE_PTR(entry->call)))
			note_maybe(sender, entry);
		sender_put_back(sender, entry);
	}
}

void sender_loaded(struct sender *sender, struct entry *entry)
{
	if (sender->on && !sender->end.stopped && has_room(sender, under_way(sender) - 1) &&
	    sender->backoff.not_before_ns <= loop_now_ns())
		send_entry(sender, entry);
	else
		sender_put_back(sender, entry);
}

uint64_t sender_send(struct sender *sender, uint64_t now_ns)
{
	struct queue_wish wish = {.now_ns = now_ns};
	uint64_t from_ns = UINT64_MAX;

	while (sender->on && !sender->end.stopped && has_room(sender, under_way(sender))) {
		if (sender->backoff.not_before_ns > now_ns)
			return sender->backoff.not_before_ns;
		wish.least_tried = sender->backoff.failing;
		wish.memory_only = !sender->disk || disk_is_out(sender->disk);
		struct entry *entry = queue_choose(&sender->queue, &wish, &from_ns);
		if (!entry)
			return from_ns;
		if (!entry->on_disk) {
			send_entry(sender, entry);
			continue;
		}
		queue_set(&sender->queue, entry, BODY_LOADING, true);
		disk_add(sender->disk, entry);
	}
	return UINT64_MAX;
}
