// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/perfmap.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/perfmap_state.h"

#define ROUNDS_KEPT   20 /* rounds without a sample in the process's JIT code */
#define OLD_AT_A_TIME 64

struct perfmap_key {
	uint64_t pid, id;
};

void perfmap_unref(struct perfmap *map)
{
	if (!map || atomic_fetch_sub(&map->refs, 1) > 1)
		return;
	held_fd_unref(map->held);
	answers_done(&map->answers);
	free(map);
}

void perfmap_lose(struct symbol_files *files, enum perfmap_loss loss, uint64_t addresses)
{
	files->stats.perfmaps_lost[loss] += addresses;
}

/* Removes the unused map that wasn't asked for the longest time; returns false if there is none. */
static bool evict_map(struct symbol_files *files)
{
	const struct perfmap_key *key;
	struct perfmap **slot, *oldest = NULL;
	struct perfmap_key oldest_key;

	map_each (files->perfmaps, pos, key, slot) {
		struct perfmap *map = *slot;

		if (!map->used && (!oldest || map->last_round < oldest->last_round)) {
			oldest = map;
			oldest_key = *key;
		}
	}
	if (!oldest)
		return false;
	map_del(files->perfmaps, &oldest_key);
	perfmap_unref(oldest);
	return true;
}

/* Returns the map of the process's incarnation before its last exec or rename, or NULL. */
static const struct perfmap *map_before(const struct symbol_files *files,
					const struct perfmap_process *process)
{
	const struct perfmap_key *key;
	const struct perfmap *found = NULL;
	struct perfmap **slot;

	map_each (files->perfmaps, pos, key, slot) {
		const struct perfmap_process *its = &(*slot)->process;

		if (its->pid == process->pid && its->start_ticks == process->start_ticks &&
		    its->id < process->id && (!found || found->process.id < its->id))
			found = *slot;
	}
	return found;
}

static struct perfmap *map_of(struct symbol_files *files, const struct perfmap_process *process)
{
	struct perfmap_key key = {(uint64_t)process->pid, process->id};
	struct perfmap **slot = map_get(files->perfmaps, &key), *map;

	if (slot) {
		(*slot)->process.whose = process->whose; /* known only once it was examined */
		return *slot;
	}
	const struct perfmap *last = map_before(files, process);
	map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;
	if (last) {
		map->seen = last->seen;
		map->seen.looked = false;
		map->held = held_fd_ref(last->held);
	}
	map->refs = 1;
	map->process = *process;
	map->last_round = files->rounds;
	int r = map_put(files->perfmaps, &key, (void **)&slot);
	if (r == -ENOSPC && evict_map(files))
		r = map_put(files->perfmaps, &key, (void **)&slot);
	if (r < 0) {
		perfmap_unref(map);
		return NULL;
	}
	return *slot = map;
}

void perfmap_meet(struct symbol_files *files, const struct perfmap_process *process)
{
	struct perfmap *map = map_of(files, process);

	if (map && !(map->held && map->seen.looked) && !map->hangs && !map->readings)
		perfmap_submit(files, map, false);
}

bool perfmap_is_there(const struct symbol_files *files, const struct perfmap_process *process)
{
	struct perfmap_key key = {(uint64_t)process->pid, process->id};
	struct perfmap *const *slot = map_get(files->perfmaps, &key);

	return slot && (*slot)->seen.found.inode;
}

struct perfmap *perfmap_of(struct symbol_files *files, const struct perfmap_process *process)
{
	struct perfmap *map = map_of(files, process);

	if (map)
		map->used = true;
	return map;
}

void perfmap_ask(struct symbol_files *files, struct perfmap *map, uint64_t address)
{
	if (!map) {
		perfmap_lose(files, PERFMAP_LOST_NO_ROOM, 1);
		return;
	}
	if (map->hangs) {
		perfmap_lose(files, map->is_slow ? PERFMAP_LOST_SLOW : PERFMAP_LOST_HUNG, 1);
		return;
	}
	map->last_round = files->rounds;
	if (!answers_ask(&map->answers, address))
		perfmap_lose(files, PERFMAP_LOST_NO_ROOM, 1);
}

const char *perfmap_find(const struct perfmap *map, uint64_t address, size_t *len)
{
	return map->answered ? answers_find(&map->answers, address, len) : NULL;
}

/* ---- rounds ---- */

/* Returns whether the map wasn't asked for long, or has no file: the file is looked for again when
 * the process is met or asked again. */
static bool is_old(const struct symbol_files *files, const struct perfmap *map)
{
	return files->rounds - map->last_round > ROUNDS_KEPT ||
	       (!map->seen.found.inode && !map->hangs && !map->readings);
}

static size_t remove_old(struct symbol_files *files)
{
	struct perfmap_key old[OLD_AT_A_TIME];
	const struct perfmap_key *key;
	struct perfmap **slot;
	size_t count = 0;

	map_each (files->perfmaps, pos, key, slot) {
		if (count < OLD_AT_A_TIME && is_old(files, *slot))
			old[count++] = *key;
	}
	for (size_t i = 0; i < count; i++) {
		slot = map_get(files->perfmaps, &old[i]);
		perfmap_unref(*slot);
		map_del(files->perfmaps, &old[i]);
	}
	return count;
}

void files_forget_answers(struct symbol_files *files)
{
	const struct perfmap_key *key;
	struct perfmap **slot;

	map_each (files->perfmaps, pos, key, slot) {
		answers_done(&(*slot)->answers);
		(*slot)->answered = (*slot)->used = false;
	}
}

void perfmap_budget_unref(struct perfmap_budget *budget)
{
	if (budget && atomic_fetch_sub(&budget->refs, 1) == 1)
		free(budget);
}

static void forget_budgets(struct symbol_files *files)
{
	while (files->budgets) {
		struct perfmap_budget *budget = files->budgets;

		files->budgets = budget->next;
		perfmap_budget_unref(budget);
	}
}

struct perfmap_budget *perfmap_budget_of(struct symbol_files *files, uint64_t whose)
{
	struct perfmap_budget *budget = files->budgets;

	while (budget && budget->whose != whose)
		budget = budget->next;
	if (!budget) {
		budget = calloc(1, sizeof(*budget));
		if (!budget)
			return NULL;
		budget->refs = 1;
		budget->whose = whose;
		budget->next = files->budgets;
		files->budgets = budget;
	}
	atomic_fetch_add(&budget->refs, 1);
	return budget;
}

void files_begin_perfmaps(struct symbol_files *files)
{
	files->rounds++;
	forget_budgets(files);
	files_forget_answers(files);
	while (remove_old(files) == OLD_AT_A_TIME)
		;
}

static void read_map(struct symbol_files *files, struct perfmap *map)
{
	size_t count = map->answers.count;

	if (map->of_rounds) { /* the last round's reading isn't done */
		perfmap_lose(files, PERFMAP_LOST_LATE, count);
		return;
	}
	files->readings++;
	if (perfmap_submit(files, map, true)) {
		map->asked = count;
		map->starved = false; /* a map that isn't read stays first */
		return;
	}
	perfmap_lose(files, PERFMAP_LOST_NO_ROOM, count);
	files->readings--;
}

void files_read_perfmaps(struct symbol_files *files)
{
	const struct perfmap_key *key;
	struct perfmap **slot;

	for (int pass = 0; pass < 2; pass++) {
		map_each (files->perfmaps, pos, key, slot) {
			struct perfmap *map = *slot;

			if (map->answers.count && map->starved == (pass == 0))
				read_map(files, map);
		}
	}
}

void files_leave_perfmaps(struct symbol_files *files)
{
	const struct perfmap_key *key;
	struct perfmap **slot;

	map_each (files->perfmaps, pos, key, slot) {
		struct perfmap *map = *slot;

		perfmap_lose(files, PERFMAP_LOST_LATE, map->asked);
		map->starved |= map->asked > 0;
		map->asked = 0;
	}
}

void files_free_perfmaps(struct symbol_files *files)
{
	const struct perfmap_key *key;
	struct perfmap **slot;

	forget_budgets(files);
	map_each (files->perfmaps, pos, key, slot)
		perfmap_unref(*slot);
	map_free(files->perfmaps);
}

const char *perfmap_loss_name(enum perfmap_loss loss)
{
	static const char *const names[] = {PERFMAP_LOSSES(NAMED_NAME)};

	return names[loss];
}
