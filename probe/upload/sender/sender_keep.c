// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps bodies on disk or in memory, and drops them when there is no room. */
#include "upload/sender/sender_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void sender_lose(struct sender *sender, enum sender_loss cause, uint64_t bodies, const char *why)
{
	sender->stats.lost[cause] += bodies;
	sender_log_loss(&sender->log, cause, bodies, why);
}

/* The age is that of the window's begin, as the server counts it. */
bool sender_is_too_old(const struct sender *sender, int64_t until_ns)
{
	return loop_real_ns() - until_ns + sender->period_ns > (int64_t)sender->times.age_ns;
}

static void free_entry(struct entry *entry)
{
	body_unref(entry->body);
	free(entry);
}

/* Removes an entry that has no file and no task. */
static void forget_entry(struct sender *sender, struct entry *entry)
{
	queue_remove(&sender->queue, entry);
	free_entry(entry);
}

void sender_remove(struct sender *sender, struct entry *entry)
{
	if (!entry->on_disk) {
		forget_entry(sender, entry);
		return;
	}
	queue_remove(&sender->queue, entry);
	body_unref(TAKE_PTR(entry->body));
	entry->state = BODY_REMOVING;
	disk_add(sender->disk, entry);
}

void sender_put_back(struct sender *sender, struct entry *entry)
{
	if (!entry->on_disk) {
		queue_set(&sender->queue, entry, BODY_WAITING, false);
		return;
	}
	body_unref(TAKE_PTR(entry->body));
	if (entry->maybe_stored && !entry->again) { /* .sent is the right mark */
		queue_set(&sender->queue, entry, BODY_WAITING, true);
		return;
	}
	entry->again = false;
	queue_set(&sender->queue, entry, BODY_RETURNING, true);
	disk_add(sender->disk, entry);
}

/* ---- room ---- */

/* Returns the oldest entry that can be dropped, on disk (or not yet written) or in memory. */
static struct entry *find_to_drop(const struct sender *sender, bool on_disk)
{
	for (struct entry *entry = sender->queue.oldest; entry; entry = entry->newer) {
		if (entry->state == BODY_WAITING && entry->on_disk == on_disk)
			return entry;
		if (entry->state == BODY_WRITING && on_disk && disk_take_back(sender->disk, entry))
			return entry;
	}
	return NULL;
}

static bool drop_oldest(struct sender *sender, bool on_disk)
{
	struct entry *entry = find_to_drop(sender, on_disk);

	if (!entry)
		return false;
	sender_lose(sender, SENDER_NO_ROOM, 1, "");
	sender_remove(sender, entry);
	return true;
}

bool sender_make_room(struct sender *sender, uint64_t bytes)
{
	const struct queue *queue = &sender->queue;

	if (bytes > sender->spool_bytes)
		return false; /* it wouldn't fit into an empty spool */
	while (queue->disk_bytes + bytes > sender->spool_bytes ||
	       queue->count >= SPOOL_BODIES_MAX) {
		if (!drop_oldest(sender, true))
			return false;
	}
	return true;
}

/* Returns whether a body may stay in memory. Without a spool the oldest are dropped for it. */
static bool fits_memory(struct sender *sender, const struct entry *entry)
{
	while (sender->queue.memory_bytes + entry->bytes > MEMORY_BYTES_MAX) {
		if (sender->disk || !drop_oldest(sender, false))
			return false;
	}
	return true;
}

/* ---- new bodies ---- */

static void keep_in_memory(struct sender *sender, struct entry *entry, const char *why)
{
	if (!fits_memory(sender, entry)) {
		sender_lose(sender, sender->disk ? SENDER_UNWRITABLE : SENDER_NO_ROOM, 1, why);
		free_entry(entry);
		return;
	}
	entry->state = BODY_WAITING;
	queue_add(&sender->queue, entry);
}

void sender_write(struct sender *sender, struct entry *entry)
{
	queue_set(&sender->queue, entry, BODY_WRITING, false);
	disk_add(sender->disk, entry);
}

void sender_keep(struct sender *sender, struct entry *entry)
{
	if (!sender->disk) {
		keep_in_memory(sender, entry, "");
	} else if (disk_is_out(sender->disk)) {
		keep_in_memory(sender, entry, "the disk doesn't answer");
	} else if (sender->queue.writing_bytes + entry->bytes > WRITING_BYTES_MAX) {
		keep_in_memory(sender, entry, "the disk is too slow");
	} else if (!sender_make_room(sender, entry->bytes)) {
		sender_lose(sender, SENDER_NO_ROOM, 1, "");
		free_entry(entry);
	} else {
		entry->state = BODY_WRITING;
		queue_add(&sender->queue, entry);
		disk_add(sender->disk, entry);
	}
}

/* ---- callbacks of the disk ---- */

static void entry_written(struct sender *sender, struct entry *entry, int result)
{
	if (result == 0) {
		body_unref(TAKE_PTR(entry->body));
		queue_set(&sender->queue, entry, BODY_WAITING, true);
		sender->unwritable = false;
		return;
	}
	if (!sender->unwritable && result != -ETIMEDOUT)
		sender_log_unwritable(sender->folder, result);
	sender->unwritable |= result != -ETIMEDOUT;
	queue_remove(&sender->queue, entry);
	keep_in_memory(sender, entry, strerror(-result));
}

static void not_loaded(struct sender *sender, struct entry *entry, int result)
{
	if (result == -ENOENT || result == -EBADMSG || result == -ELOOP) {
		sender_lose(sender, SENDER_UNREADABLE, 1, "");
		forget_entry(sender, entry);
		return;
	}
	/* No descriptor, no memory, a disk that became read-only: try again later. */
	snprintf(sender->stats.last_failure, sizeof(sender->stats.last_failure),
		 "%s can't be read: %s", sender->folder, strerror(-result));
	entry->failures++;
	entry->not_before_ns = loop_now_ns() + backoff_wait_ns(&sender->backoff, entry->failures,
							       sender->times.most_ns, 0);
	queue_set(&sender->queue, entry, BODY_WAITING, true);
}

void sender_ended(void *arg, struct entry *entry, int result, struct body *body)
{
	struct sender *sender = arg;

	switch (entry->state) {
	case BODY_WRITING:
		entry_written(sender, entry, result);
		break;
	case BODY_LOADING:
		entry->body = body;
		entry->again = entry->maybe_stored;
		if (body)
			sender_loaded(sender, entry);
		else
			not_loaded(sender, entry, result);
		break;
	case BODY_REMOVING: /* a file that stays has its mark: the next daemon sends and counts it
			     */
		free_entry(entry);
		break;
	default:
		queue_set(&sender->queue, entry, BODY_WAITING, true);
	}
	sender_pump(sender);
}

static bool add_found(struct sender *sender, const struct spool_found *found)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return false;
	*entry = (struct entry){
		.sender = sender,
		.key = found->key,
		.bytes = found->bytes,
		.state = BODY_WAITING,
		.on_disk = true,
		.maybe_stored = found->doubts > 0,
		.tried = found->doubts > 0,
	};
	queue_add(&sender->queue, entry);
	if (found->doubts > 1) { /* the daemon that sent it again could not count that */
		sender->stats.maybe_twice++;
		queue_set(&sender->queue, entry, BODY_RETURNING, true);
		disk_add(sender->disk, entry);
	}
	return true;
}

void sender_listed(void *arg, int result, const struct spool_list *list)
{
	struct sender *sender = arg;
	size_t count = 0;

	for (size_t i = 0; result == 0 && i < list->count; i++) {
		const struct spool_found *found = &list->found[i];

		/* A body of this daemon: the disk hung before, and was listed late. */
		if (found->key.number >= sender->first_number &&
		    found->key.number < sender->next_number)
			continue;
		if (add_found(sender, found))
			count++;
		else
			result = -ENOMEM;
	}
	sender_log_found(sender->folder, count, result);
	sender_make_room(sender, 0);
	sender_pump(sender);
}
