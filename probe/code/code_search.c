// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Searches of whole processes for what reading single pieces can't tell: jobs of the urgent worker.
 *
 * A process is searched some time after a piece was read that lacks its whole name, so that one
 * search is for many pieces; the next one only after many times as long as the last one took, the
 * longer the more searches in a row found nothing. A piece that a few searches haven't found is
 * looked for no more. At a window's end what is left is searched for, if the last search wasn't
 * just before. All searches of a window share an amount of CPU time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "code/code_cache_state.h"
#include "target/target_memory.h"

#define ALONE_MAX  8192 /* pieces of a process */
#define SOUGHT_MAX 1024 /* in one search */
/* In the worker's queue: who asks for other things waits for them. */
#define SEARCHES_AT_ONCE 2
#define SEARCH_NS_MOST	 (250 * NS_PER_MS)  /* CPU time of one (code/code_kind.h) */
#define SOON_NS		 (250 * NS_PER_MS)  /* after a piece was read */
#define TIMES		 50		    /* as long as the last search took … */
#define TIMES_AT_END	 20		    /* … and at a window's end */
#define VAIN_MAX	 6		    /* the time is doubled so often */
#define SEARCHED_NS_MAX	 (2000 * NS_PER_MS) /* CPU time in a window */

struct code_search {
	struct job job;
	const struct code_kind *kind; /* `cache` may be freed before a hanging job ends */
	struct code_cache *cache;
	pid_t pid;
	uint64_t id;
	struct job_memory memory;
	void *layout;
	struct code_sought *sought;
	size_t count;
	struct code_searched result;
};

/* ---- what lacks its name ---- */

static void set_timer(struct code_cache *cache, uint64_t at_ns)
{
	if (!cache->search_timer.active || at_ns < cache->search_timer.at_ns)
		loop_timer_set(cache->loop, &cache->search_timer, at_ns);
}

void code_alone_note(struct code_cache *cache, const struct target *target,
		     const struct code_key *key)
{
	struct process_code *process = code_cache_process(cache, target);
	uint64_t soon = loop_now_ns() + SOON_NS;
	struct alone_code *alone;

	if (!process->alone &&
	    map_new(&process->alone, sizeof(*key), sizeof(*alone), ALONE_MAX) < 0)
		return; /* the next time */
	if (map_put(process->alone, key, (void **)&alone) != 1)
		return;
	if (!process->alone_count++ && process->search_from_ns < soon)
		process->search_from_ns = soon;
	process->pid = target->pid;
	process->id = target->id;
	if (process->search_from_ns != UINT64_MAX)
		set_timer(cache, process->search_from_ns);
}

void code_alone_drop(struct process_code *process)
{
	map_free(TAKE_PTR(process->alone));
	process->alone_count = 0;
}

/* Notes that a search found the piece, or didn't. One that hasn't seen all (`cut`) is no try. */
static void note_search(struct process_code *process, const struct code_key *key, bool found,
			bool cut)
{
	struct alone_code *alone = process->alone ? map_get(process->alone, key) : NULL;

	if (!alone || alone->tries == SEARCHES_MAX || (cut && !found))
		return;
	if (found || ++alone->tries == SEARCHES_MAX)
		process->alone_count--;
	if (found)
		map_del(process->alone, key);
}

/* ---- a search ---- */

static void search_run(struct job *job)
{
	struct code_search *search = (struct code_search *)job;
	struct process_memory memory = job_memory_reader(&search->memory);

	search->kind->search(search->sought, search->count, search->layout, &memory,
			     &search->result);
	job_memory_close(&search->memory);
}

static void learn_all(struct code_search *search, struct target *target)
{
	struct process_code *process = code_cache_process(search->cache, target);
	bool cut = search->result.cut || search->result.error < 0;
	size_t found = 0;

	for (size_t i = 0; i < search->count; i++) {
		struct code_sought *sought = &search->sought[i];
		bool is_found = sought->piece &&
				code_layer_add(process, &sought->key, TAKE_PTR(sought->piece)) == 0;

		found += is_found;
		note_search(process, &sought->key, is_found, cut);
	}
	search->cache->stats.completed += found;
	if (found)
		process->searches_vain = 0;
}

/* Returns the CPU time that a search took. What a search that was given up says isn't looked at: it
 * may still run. */
static uint64_t search_time(const struct code_search *search, bool finished)
{
	return finished ? search->result.took_ns : SEARCH_NS_MOST;
}

/* Sets when the process may be searched again. A search that hung isn't repeated. */
static void set_pause(struct process_code *process, const struct code_search *search, bool finished)
{
	unsigned int vain = process->searches_vain;
	uint64_t now = loop_now_ns(), took = search_time(search, finished);
	uint64_t pause = took * TIMES > SOON_NS ? took * TIMES : SOON_NS;

	if (!finished && search->job.end == JOB_HANGS) {
		process->search_from_ns = process->search_end_from_ns = UINT64_MAX;
		return;
	}
	process->search_from_ns = now + (pause << (vain < VAIN_MAX ? vain : VAIN_MAX));
	process->search_end_from_ns =
		now + (took * TIMES_AT_END << (vain < VAIN_MAX ? vain : VAIN_MAX));
}

static void end_search(struct code_search *search, struct target *target, bool finished)
{
	struct process_code *process = code_cache_process(search->cache, target);

	process->searching = false;
	process->searches_vain++;
	if (finished) {
		target_memory_keep(target, &search->memory);
		learn_all(search, target);
	}
	set_pause(process, search, finished);
}

static void search_done(struct job *job, bool finished)
{
	struct code_search *search = (struct code_search *)job;
	struct code_cache *cache = search->cache;
	struct target *target = target_table_find(cache->table, (uint32_t)search->pid, search->id);

	cache->searches--;
	if (finished) {
		cache->stats.searches++;
		cache->stats.searches_cut += search->result.cut || search->result.error < 0;
	}
	cache->searched_ns += search_time(search, finished);
	if (target && code_cache_process(cache, target))
		end_search(search, target, finished);
	code_searches_due(cache);
}

static void free_search(struct job *job)
{
	struct code_search *search = (struct code_search *)job;

	for (size_t i = 0; i < search->count; i++) {
		if (search->sought[i].piece)
			search->kind->unref(search->sought[i].piece);
	}
	free(search->sought);
	if (search->kind->release && search->layout)
		search->kind->release(search->layout);
	job_memory_done(&search->memory);
	free(search->layout);
	free(search);
}

/* Fills in what is looked for. */
static int seek_alone(struct code_search *search, const struct process_code *process)
{
	const struct code_key *key;
	const struct alone_code *alone;
	size_t most = process->alone_count < SOUGHT_MAX ? process->alone_count : SOUGHT_MAX;

	search->sought = calloc(most, sizeof(*search->sought));
	if (!search->sought)
		return -ENOMEM;
	map_each (process->alone, pos, key, alone) {
		if (alone->tries < SEARCHES_MAX && search->count < most)
			search->sought[search->count++].key = *key;
	}
	return 0;
}

/* Returns whether the search was submitted. */
static bool search_submit(struct code_cache *cache, struct process_code *process,
			  struct target *target)
{
	struct code_search *search = calloc(1, sizeof(*search));

	if (!search)
		return false;
	search->job = (struct job){.run = search_run,
				   .done = search_done,
				   .free = free_search,
				   .whose = target->whose};
	search->kind = cache->kind;
	search->cache = cache;
	search->pid = target->pid;
	search->id = target->id;
	target_memory_of(&search->memory, target, cache->urgent);
	search->layout = malloc(cache->kind->layout_bytes);
	if (!search->layout || !cache->kind->layout(target, search->layout)) {
		free(TAKE_PTR(search->layout));
		free_search(&search->job);
		return false;
	}
	if (seek_alone(search, process) < 0) {
		free_search(&search->job);
		return false;
	}
	process->searching = true;
	cache->searches++;
	worker_submit(cache->urgent, &search->job);
	return true;
}

/* ---- when ---- */

/* Returns whether the process is one to be searched, now or later. */
static bool is_due(const struct process_code *process)
{
	return process->alone_count && !process->searching && process->search_from_ns != UINT64_MAX;
}

static bool submit_one(struct code_cache *cache, struct process_code *process)
{
	struct target *target =
		target_table_find(cache->table, (uint32_t)process->pid, process->id);

	if (!target || target_hangs(target) || !target_is_alive(target)) {
		code_alone_drop(process);
		return false;
	}
	return search_submit(cache, process, target);
}

/* Submits searches as long as there is room; sets the timer for the others. Returns whether any
 * was submitted. */
static bool submit_due(struct code_cache *cache, bool at_end)
{
	uint64_t now = loop_now_ns(), next = UINT64_MAX;
	bool any = false;

	for (struct process_code *process = cache->processes; process; process = process->next) {
		if (!is_due(process))
			continue;
		uint64_t from = at_end ? process->search_end_from_ns : process->search_from_ns;

		if (cache->searched_ns + cache->searches * SEARCH_NS_MOST >= SEARCHED_NS_MAX ||
		    cache->searches >= SEARCHES_AT_ONCE)
			break; /* later: in the next window; when one has ended */
		if (from <= now)
			any |= submit_one(cache, process);
		else if (process->search_from_ns < next)
			next = process->search_from_ns;
	}
	if (next != UINT64_MAX)
		set_timer(cache, next);
	return any;
}

void code_searches_due(void *arg)
{
	submit_due(arg, false);
}

bool code_cache_search(struct code_cache *cache)
{
	return submit_due(cache, true) || cache->searches;
}

void code_searches_sweep(struct code_cache *cache)
{
	cache->searched_ns = 0;
	/* Who has noted much makes code all the time: most of what is noted is gone. */
	for (struct process_code *process = cache->processes; process; process = process->next) {
		if (process->alone && !process->searching &&
		    map_count(process->alone) > ALONE_MAX / 2)
			code_alone_drop(process);
	}
	submit_due(cache, false);
}
