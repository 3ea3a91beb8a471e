// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/perfmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/file_state.h"

#define NAMES_MAX     (8u << 20)  /* of a process, in a window */
#define MEMORY_MAX    (32u << 20) /* of all maps, while a window is named */
#define QUESTIONS_MAX 65536	  /* of a process, in a window */
#define ROUNDS_KEPT   20	  /* without a sample in its made code */
#define OLD_AT_A_TIME 64

struct perfmap_key {
	uint64_t pid, id;
};

/* A map's file, as it was seen last. */
struct seen {
	struct perfmap_found found; /* inode 0: there was none */
	bool looked;		    /* by this process; else it is what it was before an exec */
	uint64_t from;		    /* lines before that aren't its own */
	/* Bytes that it had at the end of the last round, and before that round's window began:
	 * what comes while it is read may be of either. */
	uint64_t end, settled;
};

/* Of a round; answered: sorted, with names. */
struct answers {
	struct perfmap_question *questions;
	size_t count, capacity;
	struct buf names;
};

struct perfmap {
	atomic_uint refs;
	struct perfmap_process process;
	struct held *held; /* the map; NULL: it isn't open */
	struct seen seen;
	struct answers answers;
	unsigned readings; /* that go on */
	uint64_t last_round;
	bool hangs;
	bool answered, used; /* in this round; used: somebody may have a pointer to it */
};

struct map_reading {
	struct job job;
	struct symbol_files *files;
	struct perfmap *map; /* a reference; not for the worker's thread */
	bool of_round;

	/* question and answer */
	struct perfmap_process process;
	struct held *held; /* with a reference */
	struct seen seen;
	struct answers answers;
	bool is_another; /* than was known */
	uint64_t stale, no_room;
	int error;
};

/* ---- memory, which a job that hangs may have for longer than the registry lives ---- */

static atomic_size_t memory;

/* So many bytes, or what is left. */
static size_t take_most(size_t bytes)
{
	size_t before = atomic_load(&memory), most;

	do {
		most = before < MEMORY_MAX ? MEMORY_MAX - before : 0;
		most = bytes < most ? bytes : most;
	} while (!atomic_compare_exchange_weak(&memory, &before, before + most));
	return most;
}

static void give(size_t bytes)
{
	atomic_fetch_sub(&memory, bytes);
}

static bool take(size_t bytes)
{
	size_t most = take_most(bytes);

	if (most < bytes)
		give(most);
	return most == bytes;
}

static void answers_done(struct answers *answers)
{
	give(answers->names.capacity + answers->capacity * sizeof(*answers->questions));
	free(answers->questions);
	buf_done(&answers->names);
	*answers = (struct answers){0};
}

static bool answers_ask(struct answers *answers, uint64_t address)
{
	if (answers->count == QUESTIONS_MAX)
		return false;
	if (answers->count == answers->capacity) {
		size_t more = answers->capacity ? answers->capacity : 64;
		struct perfmap_question *grown;

		if (!take(more * sizeof(*grown)))
			return false;
		grown = reallocarray(answers->questions, answers->capacity + more, sizeof(*grown));
		if (!grown) {
			give(more * sizeof(*grown));
			return false;
		}
		answers->questions = grown;
		answers->capacity += more;
	}
	answers->questions[answers->count++] = (struct perfmap_question){.address = address};
	return true;
}

/* ---- the registry ---- */

static void perfmap_unref(struct perfmap *map)
{
	if (!map || atomic_fetch_sub(&map->refs, 1) > 1)
		return;
	held_unref(map->held);
	answers_done(&map->answers);
	free(map);
}

/* The one that was not asked for the longest time makes room. */
static bool evict(struct symbol_files *files)
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

/* What the process was before its last exec or name, or NULL. */
static const struct perfmap *before(const struct symbol_files *files,
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

	if (slot)
		return *slot;
	const struct perfmap *last = before(files, process);
	map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;
	if (last) {
		map->seen = last->seen;
		map->seen.looked = false;
		map->held = held_ref(last->held);
	}
	map->refs = 1;
	map->process = *process;
	map->last_round = files->rounds;
	int r = map_put(files->perfmaps, &key, (void **)&slot);
	if (r == -ENOSPC && evict(files))
		r = map_put(files->perfmaps, &key, (void **)&slot);
	if (r < 0) {
		perfmap_unref(map);
		return NULL;
	}
	return *slot = map;
}

/* ---- on the worker's thread ---- */

static int by_address(const void *a, const void *b)
{
	const struct perfmap_question *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* Whether it is the one that was known, and has grown. Else it counts from its beginning, or, when
 * it is left from another process or program, from where it ends now. */
static bool is_known(struct map_reading *mine, const struct perfmap_found *now)
{
	struct seen *seen = &mine->seen;
	uint64_t bytes = seen->end > seen->from ? seen->end : seen->from;
	bool execed = seen->found.program && now->program != seen->found.program;
	bool same = !execed && seen->found.inode && now->device == seen->found.device &&
		    now->inode == seen->found.inode;
	bool cut = same && now->bytes < bytes; /* written anew, by this process */

	if (same && !cut)
		return true;
	mine->is_another = true;
	seen->settled = seen->end = 0;
	seen->from = now->is_older && !cut ? now->bytes : 0;
	return false;
}

/* The map that is open from now on: a descriptor, of `held` or *own. */
static int open_now(struct map_reading *mine, int *own)
{
	struct perfmap_found now = mine->seen.found;
	_cleanup_close_ int fd = perfmap_open(&mine->process, &now);
	struct stat stat;

	if (fd >= 0 && mine->seen.looked && mine->seen.found.program &&
	    now.program != mine->seen.found.program) {
		close(TAKE_FD(fd));
		fd = -ESRCH; /* it is another program by now */
	}
	if (fd < 0 && !mine->seen.looked) /* it may be another program's */
		held_unref(TAKE_PTR(mine->held));
	if (fd < 0 && !mine->held)
		return fd;
	if (fd < 0) { /* what it has told is all there */
		if (fstat(mine->held->fd, &stat) < 0)
			return -errno;
		return (uint64_t)stat.st_size < mine->seen.end ? -ESTALE : mine->held->fd;
	}
	bool known = is_known(mine, &now);
	mine->seen.found = now;
	mine->seen.looked = true;
	if (known && mine->held)
		return mine->held->fd;
	held_unref(TAKE_PTR(mine->held));
	*own = TAKE_FD(fd);
	if (held_take() && !(mine->held = held_new(own, mine->job.worker)))
		held_give();
	return mine->held ? mine->held->fd : *own;
}

static void run_reading(struct job *job)
{
	struct map_reading *mine = (struct map_reading *)job;
	struct answers *answers = &mine->answers;
	_cleanup_close_ int own = -1;
	int fd = open_now(mine, &own);

	if (fd < 0) {
		mine->error = fd;
		return;
	}
	if (answers->count)
		qsort(answers->questions, answers->count, sizeof(*answers->questions), by_address);
	size_t room = take_most(NAMES_MAX);
	struct perfmap_lookup lookup = {
		.from = mine->seen.from,
		.settled = mine->seen.settled,
		.questions = answers->questions,
		.count = answers->count,
		.end = mine->seen.end,
		.names = BUF_INIT(room),
	};
	mine->error = perfmap_read(fd, &lookup);
	if (lookup.names.capacity > room) /* it grows by doubling */
		atomic_fetch_add(&memory, lookup.names.capacity - room);
	else
		give(room - lookup.names.capacity);
	answers->names = lookup.names;
	mine->seen.end = lookup.end;
	mine->stale = lookup.stale;
	mine->no_room = lookup.no_room;
}

/* ---- on the loop's thread ---- */

static void lose(struct symbol_files *files, enum perfmap_loss loss, uint64_t addresses)
{
	files->stats.perfmaps_lost[loss] += addresses;
}

static void count_losses(const struct map_reading *mine, bool finished)
{
	uint64_t all = mine->answers.count;

	if (!finished) {
		lose(mine->files, PERFMAP_LOST_HUNG, all);
		return;
	}
	lose(mine->files, PERFMAP_LOST_STALE, mine->error == -ESTALE ? all : mine->stale);
	lose(mine->files, PERFMAP_LOST_NO_ROOM, mine->error == -ENOMEM ? all : mine->no_room);
	switch (mine->error) {
	case 0:
	case -ENOENT:
	case -ENOTDIR:
	case -ESRCH:
	case -ESTALE:
	case -ENOMEM:
		return;
	case -EPERM:
		lose(mine->files, PERFMAP_LOST_FOREIGN, all);
		return;
	case -EFBIG:
	case -E2BIG:
		lose(mine->files, PERFMAP_LOST_TOO_LARGE, all);
		return;
	default:
		lose(mine->files, PERFMAP_LOST_UNREADABLE, all);
	}
}

static void reading_ended(struct job *job, bool finished)
{
	struct map_reading *mine = (struct map_reading *)job;
	struct perfmap *map = mine->map;

	map->readings--;
	if (!finished) {
		map->hangs = true;
		held_unref(TAKE_PTR(map->held));
	} else {
		struct seen was = map->seen;

		held_unref(map->held);
		map->held = TAKE_PTR(mine->held);
		map->seen = mine->seen;
		map->seen.settled = mine->is_another ? 0 : mine->of_round ? was.end : was.settled;
		if (!mine->of_round && !mine->is_another)
			map->seen.end = was.end;
	}
	if (mine->of_round)
		count_losses(mine, finished);
	if (finished && mine->of_round && mine->error == 0) {
		answers_done(&map->answers);
		map->answers = mine->answers;
		mine->answers = (struct answers){0};
		map->answered = true;
	}
	if (mine->of_round)
		files_one_less(mine->files);
}

static void free_reading(struct job *job)
{
	struct map_reading *mine = (struct map_reading *)job;

	held_unref(mine->held);
	answers_done(&mine->answers);
	perfmap_unref(mine->map);
	free(mine);
}

/* Its questions go with it. */
static bool submit(struct symbol_files *files, struct perfmap *map, bool of_round)
{
	struct map_reading *mine = calloc(1, sizeof(*mine));

	if (!mine)
		return false;
	atomic_fetch_add(&map->refs, 1);
	mine->job = (struct job){.run = run_reading, .done = reading_ended, .free = free_reading};
	mine->files = files;
	mine->map = map;
	mine->of_round = of_round;
	mine->process = map->process;
	mine->held = held_ref(map->held);
	mine->seen = map->seen;
	if (of_round) {
		mine->answers = map->answers;
		map->answers = (struct answers){0};
	}
	map->readings++;
	worker_submit(files->worker, &mine->job);
	return true;
}

void perfmap_meet(struct symbol_files *files, const struct perfmap_process *process)
{
	struct perfmap *map = map_of(files, process);

	if (map && !(map->held && map->seen.looked) && !map->hangs && !map->readings)
		submit(files, map, false);
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
		lose(files, PERFMAP_LOST_NO_ROOM, 1);
		return;
	}
	if (map->hangs) {
		lose(files, PERFMAP_LOST_HUNG, 1);
		return;
	}
	map->last_round = files->rounds;
	if (!answers_ask(&map->answers, address))
		lose(files, PERFMAP_LOST_NO_ROOM, 1);
}

const char *perfmap_find(const struct perfmap *map, uint64_t address, size_t *len)
{
	struct perfmap_question wanted = {.address = address};

	if (!map->answered || !map->answers.count)
		return NULL;
	const struct perfmap_question *found = bsearch(
		&wanted, map->answers.questions, map->answers.count, sizeof(wanted), by_address);
	if (!found || !found->len)
		return NULL;
	*len = found->len;
	return map->answers.names.data + found->name;
}

/* ---- of rounds ---- */

/* It wasn't asked for long, or has no file: that is looked for again when it is met or asked. */
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

void files_begin_perfmaps(struct symbol_files *files)
{
	files->rounds++;
	files_forget_answers(files);
	while (remove_old(files) == OLD_AT_A_TIME)
		;
}

void files_read_perfmaps(struct symbol_files *files)
{
	const struct perfmap_key *key;
	struct perfmap **slot;

	map_each (files->perfmaps, pos, key, slot) {
		struct perfmap *map = *slot;

		if (!map->answers.count)
			continue;
		files->readings++;
		if (!submit(files, map, true)) {
			lose(files, PERFMAP_LOST_NO_ROOM, map->answers.count);
			files->readings--;
		}
	}
}

void files_free_perfmaps(struct symbol_files *files)
{
	const struct perfmap_key *key;
	struct perfmap **slot;

	map_each (files->perfmaps, pos, key, slot)
		perfmap_unref(*slot);
	map_free(files->perfmaps);
}

const char *perfmap_loss_name(enum perfmap_loss loss)
{
	static const char *const names[PERFMAP_LOST_COUNT] = {
		[PERFMAP_LOST_FOREIGN] = "foreign",	[PERFMAP_LOST_STALE] = "stale",
		[PERFMAP_LOST_TOO_LARGE] = "too_large", [PERFMAP_LOST_HUNG] = "hung",
		[PERFMAP_LOST_NO_ROOM] = "no_room",	[PERFMAP_LOST_UNREADABLE] = "unreadable",
	};

	return names[loss];
}
