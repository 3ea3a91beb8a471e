// SPDX-License-Identifier: GPL-2.0-or-later
/* Jobs of the urgent worker that read pieces from a process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "code/code_cache_state.h"
#include "target/target_memory.h"
#include "python/pycode_copy.h"

#define READING_MAX 1024 /* in one job */

struct reading_item {
	struct code_key key;
	struct held_copy *copy; /* NULL: there is none */
	uint64_t pair[2];
	void *piece;
	int error;
};

struct code_reading {
	struct job job;
	const struct code_kind *kind; /* `cache` may be freed before a hanging job ends */
	struct code_cache *cache;
	struct process_code *process; /* while the job isn't submitted */
	pid_t pid;
	bool was_forked; /* by a target, whose memory is `parents` */
	struct job_memory memory, parents;
	uint64_t id;
	void *layout;
	struct reading_item *items;
	size_t count, capacity;
	struct code_reading *next, **link; /* while the job isn't submitted */
};

static int read_from(struct code_reading *mine, struct reading_item *item, struct job_memory *from)
{
	struct process_memory memory = job_memory_reader(from);
	struct pycode_copy copy = {.behind = memory};

	if (item->copy) {
		copy.copy = &item->copy->copy;
		memory = pycode_memory_with(&copy);
	}
	return mine->kind->read(&item->piece, mine->layout, &memory, item->pair);
}

/*
 * Reads one piece, from the parent if the process has ended: the key tells whether it is the same.
 */
static void read_one(struct code_reading *mine, struct reading_item *item)
{
	item->error = read_from(mine, item, &mine->memory);
	if (item->error != -ESRCH || !mine->was_forked)
		return;
	if (read_from(mine, item, &mine->parents) == 0)
		item->error = 0;
}

static void code_job_run(struct job *job)
{
	struct code_reading *mine = (struct code_reading *)job;

	for (size_t i = 0; i < mine->count; i++)
		read_one(mine, &mine->items[i]);
	job_memory_close(&mine->memory);
	job_memory_close(&mine->parents);
}

/* Ends the accounting of a job. A hanging job still uses its items until it returns. */
static void end_pending(struct code_reading *mine)
{
	mine->cache->pending -= mine->count;
	for (size_t i = 0; i < mine->count; i++)
		copy_forget(mine->cache, mine->items[i].copy);
}

static void code_job_done(struct job *job, bool finished)
{
	struct code_reading *mine = (struct code_reading *)job;
	struct code_cache *cache = mine->cache;
	struct target *target = target_table_find(cache->table, (uint32_t)mine->pid, mine->id);

	end_pending(mine);
	if (target && job->end == JOB_HANGS) /* a slow one is asked for again in the next window */
		target_set_hung(target);
	if (finished && target)
		target_memory_keep(target, &mine->memory);
	for (size_t i = 0; target && i < mine->count; i++) {
		struct reading_item *item = &mine->items[i];

		if (finished)
			code_cache_learn(cache, target, &item->key, TAKE_PTR(item->piece),
					 item->error);
		else
			code_cache_learn(cache, target, &item->key, NULL, -ETIMEDOUT);
	}
}

static void free_reading(struct job *job)
{
	struct code_reading *mine = (struct code_reading *)job;

	for (size_t i = 0; i < mine->count; i++) {
		if (mine->items[i].piece)
			mine->kind->unref(mine->items[i].piece);
		free(mine->items[i].copy);
	}
	free(mine->items);
	if (mine->kind->release)
		mine->kind->release(mine->layout);
	job_memory_done(&mine->memory);
	job_memory_done(&mine->parents);
	free(mine->layout);
	free(mine);
}

/*
 * Remembers both memories: a parent that runs the same program still has what it had at the fork.
 */
static void remember_memory(struct code_reading *mine, const struct target *target)
{
	const struct target *parent = target_table_current(mine->cache->table, target->forked_from);
	const struct target other = {
		.pid = target->forked_from, .program = target->program, .whose = target->whose};

	target_memory_of(&mine->memory, target, mine->cache->urgent);
	mine->was_forked = target->forked_from != 0;
	target_memory_of(&mine->parents,
			 parent && parent->program == target->program ? parent : &other,
			 mine->cache->urgent);
}

static struct code_reading *reading_new(struct code_cache *cache, const struct target *target)
{
	struct code_reading *mine = calloc(1, sizeof(*mine));

	if (!mine)
		return NULL;
	mine->kind = cache->kind;
	mine->layout = malloc(mine->kind->layout_bytes);
	if (!mine->layout || !mine->kind->layout(target, mine->layout)) {
		free(mine->layout);
		free(mine);
		return NULL;
	}
	mine->job = (struct job){.run = code_job_run,
				 .done = code_job_done,
				 .free = free_reading,
				 .whose = target->whose};
	mine->cache = cache;
	mine->process = code_cache_process(cache, target);
	mine->pid = target->pid;
	remember_memory(mine, target);
	mine->id = target->id;
	mine->next = cache->open;
	mine->link = &cache->open;
	if (mine->next)
		mine->next->link = &mine->next;
	cache->open = mine;
	return mine;
}

/* Takes the job off the list of open ones. */
static void close_reading(struct code_reading *mine)
{
	*mine->link = mine->next;
	if (mine->next)
		mine->next->link = mine->link;
	mine->process->open = NULL;
	mine->process = NULL;
}

static void code_job_submit(struct code_reading *mine)
{
	close_reading(mine);
	worker_submit(mine->cache->urgent, &mine->job);
}

int reading_add(struct code_cache *cache, const struct target *target, const struct code_key *key,
		const uint64_t pair[2])
{
	struct process_code *process = code_cache_process(cache, target);
	struct code_reading *mine = process->open;

	if (!mine)
		mine = process->open = reading_new(cache, target);
	if (!mine)
		return -ENOMEM;
	if (array_grow(mine->items, mine->capacity, mine->count + 1, 16) < 0)
		return -ENOMEM;
	mine->items[mine->count++] = (struct reading_item){
		.key = *key, .pair = {pair[0], pair[1]}, .copy = copies_take(process, key)};
	cache->pending++;
	if (mine->count == READING_MAX)
		code_job_submit(mine);
	return 0;
}

void reading_drop(struct process_code *process)
{
	struct code_reading *mine = process->open;

	if (!mine)
		return;
	close_reading(mine);
	end_pending(mine);
	free_reading(&mine->job);
}

void code_cache_flush(struct code_cache *cache)
{
	while (cache->open)
		code_job_submit(cache->open);
}
