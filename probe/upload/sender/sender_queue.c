// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/sender/sender_queue.h"

/* Adds an entry to the sums of the queue, or subtracts it. */
static void count_entry(struct queue *queue, const struct entry *entry, uint64_t sign)
{
	queue->count += sign;
	queue->states[entry->state] += sign;
	queue->bytes += sign * entry->bytes;
	if (entry->on_disk || entry->state == BODY_WRITING)
		queue->disk_bytes += sign * entry->bytes;
	else
		queue->memory_bytes += sign * entry->bytes;
	if (entry->state == BODY_WRITING)
		queue->writing_bytes += sign * entry->bytes;
}

#define PLUS  UINT64_C(1)
#define MINUS UINT64_MAX /* as sums wrap */

void queue_add(struct queue *queue, struct entry *entry)
{
	struct entry *older = queue->newest;

	while (older && spool_compare(&older->key, &entry->key) > 0)
		older = older->older;
	entry->older = older;
	entry->newer = older ? older->newer : queue->oldest;
	*(entry->older ? &entry->older->newer : &queue->oldest) = entry;
	*(entry->newer ? &entry->newer->older : &queue->newest) = entry;
	count_entry(queue, entry, PLUS);
}

void queue_remove(struct queue *queue, struct entry *entry)
{
	*(entry->older ? &entry->older->newer : &queue->oldest) = entry->newer;
	*(entry->newer ? &entry->newer->older : &queue->newest) = entry->older;
	entry->older = entry->newer = NULL;
	count_entry(queue, entry, MINUS);
}

void queue_set(struct queue *queue, struct entry *entry, enum body_state state, bool on_disk)
{
	count_entry(queue, entry, MINUS);
	entry->state = state;
	entry->on_disk = on_disk;
	count_entry(queue, entry, PLUS);
}

struct entry *queue_choose(const struct queue *queue, const struct queue_wish *wish,
			   uint64_t *from_ns)
{
	struct entry *best = NULL;

	*from_ns = UINT64_MAX;
	for (struct entry *entry = queue->oldest; entry; entry = entry->newer) {
		if (entry->state != BODY_WAITING || (wish->memory_only && entry->on_disk))
			continue;
		if (entry->not_before_ns > wish->now_ns) {
			if (entry->not_before_ns < *from_ns)
				*from_ns = entry->not_before_ns;
		} else if (!best || entry->failures < best->failures) {
			best = entry;
			if (!wish->least_tried || best->failures == 0)
				break;
		}
	}
	return best;
}
