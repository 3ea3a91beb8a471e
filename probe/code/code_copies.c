// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies of code objects that came before the stack that asks for them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/code_cache_state.h"
#include "runtime/interpreter.h"
#include "python/pycode_copy.h"

#define COPIES_MAX	 4096	     /* of one process */
#define COPIES_BYTES_MAX (16u << 20) /* of all */

struct copy_slot {
	struct held_copy *held;
};

void copy_forget(struct code_cache *cache, const struct held_copy *held)
{
	if (held)
		cache->copies_bytes -= held->bytes;
}

static void drop_copy(struct code_cache *cache, struct held_copy *held)
{
	copy_forget(cache, held);
	free(held);
}

static struct held_copy *hold_copy(struct code_cache *cache, const struct code_copy *copy,
				   size_t bytes)
{
	struct held_copy *held;

	if (cache->copies_bytes + bytes > COPIES_BYTES_MAX)
		return NULL;
	held = malloc(offsetof(struct held_copy, copy) + bytes);
	if (!held)
		return NULL;
	held->bytes = bytes;
	memcpy(&held->copy, copy, bytes);
	cache->copies_bytes += bytes;
	return held;
}

static bool is_known(const struct process_code *process, const struct code_key *key)
{
	return code_layer_find(process->layer, key) != NULL;
}

/* Allows another try to read the piece. */
static void allow_retry(struct process_code *process, const struct code_key *key)
{
	const struct asked_code *asked = process->asked ? map_get(process->asked, key) : NULL;

	if (asked && asked->failed)
		map_del(process->asked, key);
}

void code_cache_offer(struct code_cache *cache, struct target *target, const struct code_copy *copy,
		      size_t bytes)
{
	struct code_key key = {copy->address, copy->sum};
	struct process_code *process;
	struct copy_slot *slot;

	if (!interpreter_is_supported(target_interpreter(target)) ||
	    !code_copy_is_valid(copy, bytes))
		return;
	process = code_cache_make_process(cache, target);
	if (!process || is_known(process, &key))
		return;
	if (!process->copies &&
	    map_new(&process->copies, sizeof(key), sizeof(*slot), COPIES_MAX) < 0)
		return;
	int r = map_put(process->copies, &key, (void **)&slot);
	if (r < 0)
		return;
	if (r > 0)
		slot->held = NULL;
	drop_copy(cache, slot->held);
	slot->held = hold_copy(cache, copy, bytes);
	if (!slot->held) {
		map_del(process->copies, &key);
		return;
	}
	cache->stats.copied++;
	allow_retry(process, &key);
}

void code_cache_offer_copy(struct code_cache *cache, const struct code_copy *copy, size_t bytes)
{
	struct target *target = target_table_find(cache->table, copy->tgid, copy->target_id);

	if (target && target->state != TARGET_REJECTED)
		code_cache_offer(cache, target, copy, bytes);
}

struct held_copy *copies_take(struct process_code *process, const struct code_key *key)
{
	struct copy_slot *slot = process->copies ? map_get(process->copies, key) : NULL;
	struct held_copy *held = slot ? slot->held : NULL;

	if (slot)
		map_del(process->copies, key);
	return held;
}

void copies_drop(struct process_code *process)
{
	const struct code_key *key;
	const struct copy_slot *slot;

	if (!process->copies)
		return;
	map_each (process->copies, pos, key, slot)
		drop_copy(process->cache, slot->held);
	map_free(process->copies);
	process->copies = NULL;
}
