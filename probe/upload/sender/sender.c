// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/sender/sender_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "upload/http/auth.h"
#include "upload/http/upload_options.h"

static const struct sender_times default_times = {
	.first_ns = NS_PER_S,
	.most_ns = 60 * NS_PER_S,
	.row_most_ns = 8 * NS_PER_S,
	.told_most_ns = 600 * NS_PER_S,
	.age_ns = 3590 * NS_PER_S,
	.request_ns = 30 * NS_PER_S,
	.close_ns = 3 * NS_PER_S,
	.disk_pause_ns = 10 * NS_PER_S,
};

/* ---- what follows each event ---- */

static void drop_old(struct sender *sender)
{
	struct entry *newer;
	uint64_t dropped = 0;

	for (struct entry *entry = sender->queue.oldest; entry; entry = newer) {
		if (!sender_is_too_old(sender, entry->key.until_ns))
			break;
		newer = entry->newer;
		if (entry->state != BODY_WAITING)
			continue;
		sender_remove(sender, entry);
		dropped++;
	}
	if (dropped)
		sender_lose(sender, SENDER_TOO_OLD, dropped, sender->stats.last_failure);
}

void sender_pump(struct sender *sender)
{
	uint64_t now_ns = loop_now_ns();

	drop_old(sender);
	uint64_t wake_ns = sender_send(sender, now_ns);
	/* Look at the ages every minute: the real-time clock may be set. */
	if (sender->queue.count && wake_ns > now_ns + sender->times.age_ns / 60)
		wake_ns = now_ns + sender->times.age_ns / 60;
	if (wake_ns == UINT64_MAX)
		loop_timer_cancel(sender->loop, &sender->timer);
	else
		loop_timer_set(sender->loop, &sender->timer, wake_ns);
	if (!sender->queue.states[BODY_LOADING] && !sender->queue.states[BODY_FLYING])
		http_close_idle(sender->http);
	sender_check_end(sender);
}

static void pump_on_timer(void *arg)
{
	sender_pump(arg);
}

static void disk_changed(void *arg)
{
	struct sender *sender = arg;

	sender_log_disk(sender->folder, disk_is_out(sender->disk));
	sender_pump(sender);
}

/* ---- options ---- */

static int read_auth(struct sender *sender, const struct upload_options *options, struct why *why)
{
	const char *exposed[AUTH_SECRETS_MAX];
	struct auth *auth;
	int r = auth_read(&auth, options, why);

	if (r < 0)
		return r;
	auth_free(sender->auth);
	sender->auth = auth;
	size_t count = auth_exposed(options, exposed);
	for (size_t i = 0; i < count; i++)
		sender_log_exposed(exposed[i]);
	return 0;
}

int sender_set_options(struct sender *sender, const struct upload_options *options, struct why *why)
{
	int r = read_auth(sender, options, why);

	if (r < 0)
		return r;
	sender->spool_bytes = options->spool_bytes;
	sender->spread_ns = options->spread_s * NS_PER_S;
	sender_make_room(sender, 0);
	sender_pump(sender);
	return 0;
}

/* ---- begin and end ---- */

static int make_parts(struct sender *sender, const struct sender_setup *setup)
{
	struct disk_setup disk = {
		.loop = setup->loop,
		.foreign = setup->foreign,
		.folder = setup->options->spool_dir,
		.pause_ns = sender->times.disk_pause_ns,
		.ended = sender_ended,
		.listed = sender_listed,
		.changed = disk_changed,
		.arg = sender,
	};

	sender->folder = strdup(setup->options->spool_dir);
	if (!sender->folder)
		return -ENOMEM;
	int r = http_new(&sender->http, setup->loop);
	if (r == 0 && sender->folder[0])
		r = disk_new(&sender->disk, &disk);
	if (r == 0)
		r = read_auth(sender, setup->options, setup->why);
	return r;
}

int sender_new(struct sender **ret, const struct sender_setup *setup)
{
	struct sender *sender = calloc(1, sizeof(*sender));

	if (!sender)
		return -ENOMEM;
	sender->loop = setup->loop;
	sender->times = setup->times ? *setup->times : default_times;
	sender->spool_bytes = setup->options->spool_bytes;
	sender->spread_ns = setup->options->spread_s * NS_PER_S;
	sender->part = (uint16_t)hash_seed();
	sender->period_ns = (int64_t)setup->options->period_s * (int64_t)NS_PER_S;
	/* The numbers of keys are larger than those of earlier daemons. */
	sender->first_number = (uint64_t)loop_real_ns();
	sender->next_number = sender->first_number;
	sender->timer =
		(struct loop_timer){.expired = pump_on_timer, .arg = sender, .name = "uploads"};
	backoff_init(&sender->backoff,
		     &(struct backoff_times){sender->times.first_ns, sender->times.most_ns,
					     sender->times.row_most_ns,
					     sender->times.told_most_ns});
	sender_log_init(&sender->log);
	int r = make_parts(sender, setup);
	if (r < 0) {
		sender_free(sender);
		return r;
	}
	if (sender->disk)
		disk_list(sender->disk);
	*ret = sender;
	return 0;
}

void sender_free(struct sender *sender)
{
	if (!sender)
		return;
	loop_timer_cancel(sender->loop, &sender->timer);
	loop_timer_cancel(sender->loop, &sender->end.timer);
	loop_unpost(sender->loop, &sender->end.call);
	http_free(sender->http);
	disk_free(sender->disk);
	while (sender->queue.oldest) {
		struct entry *entry = sender->queue.oldest;

		queue_remove(&sender->queue, entry);
		body_unref(entry->body);
		free(entry);
	}
	auth_free(sender->auth);
	free(sender->folder);
	free(sender->url);
	free(sender);
}

/* Sets another server: resets what is known of the server, and takes back what is in flight. */
static void change_server(struct sender *sender, const char *url)
{
	free(sender->url);
	sender->url = strdup(url);
	sender->on = sender->url;
	if (!sender->url)
		snprintf(sender->stats.last_failure, sizeof(sender->stats.last_failure), "%s",
			 strerror(ENOMEM));
	backoff_reset(&sender->backoff, loop_now_ns());
	sender_log_other_server(&sender->log);
	sender->stats.failing = false;
	sender_take_back(sender);
	for (struct entry *entry = sender->queue.oldest; entry; entry = entry->newer) {
		entry->failures = 0;
		entry->not_before_ns = 0;
	}
}

void sender_set_server(struct sender *sender, const char *url)
{
	sender->on = url;
	if (url && (!sender->url || strcmp(url, sender->url) != 0))
		change_server(sender, url);
	sender_pump(sender);
}

/* ---- bodies ---- */

/* Returns when a window may be sent at the earliest, 0: now. If the clock was set, the wait is
 * still no longer than the spread. */
static uint64_t due_ns(const struct sender *sender, int64_t until_ns)
{
	uint64_t wait_ns = sender->spread_ns / 65536 * sender->part;
	int64_t age_ns = loop_real_ns() - until_ns;

	if (age_ns > 0)
		wait_ns -= (uint64_t)age_ns < wait_ns ? (uint64_t)age_ns : wait_ns;
	return wait_ns ? loop_now_ns() + wait_ns : 0;
}

void sender_add(struct sender *sender, struct sender_body *given)
{
	_cleanup_body_ struct body *body = NULL;
	int64_t until_ns = given->until_ns > 0 ? given->until_ns : 0;
	int r = body_new(&body, &given->texts, until_ns, &given->bytes);
	struct entry *entry = r == 0 ? calloc(1, sizeof(*entry)) : NULL;

	if (!entry) {
		sender_lose(sender, r == -EINVAL ? SENDER_TOO_LARGE : SENDER_UNWRITABLE, 1, "");
		return;
	}
	if (sender_is_too_old(sender, until_ns)) {
		sender_lose(sender, SENDER_TOO_OLD, 1, "");
		free(entry);
		return;
	}
	*entry = (struct entry){
		.sender = sender,
		.key = {until_ns, sender->next_number++},
		.bytes = spool_file_bytes(body),
		.not_before_ns = sender->end.done ? 0 : due_ns(sender, until_ns),
		.body = TAKE_PTR(body),
	};
	sender_keep(sender, entry);
	sender_pump(sender);
}

void sender_count_loss(struct sender *sender, enum sender_loss cause, uint64_t bodies)
{
	sender_lose(sender, cause, bodies, "");
}

void sender_stats(const struct sender *sender, struct sender_stats *stats)
{
	*stats = sender->stats;
	stats->failing &= sender->on;
	stats->waiting = sender->queue.count;
	stats->waiting_bytes = sender->queue.bytes;
	stats->oldest_waiting_ns = sender->queue.oldest ? sender->queue.oldest->key.until_ns : 0;
}
