// SPDX-License-Identifier: GPL-2.0-or-later
/* The job that opens a map and looks up the addresses that were asked for. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/perfmap_state.h"

#define BUDGET_NS    (1 * NS_PER_S) /* for all maps of a user, in a round; bytes too */
#define BUDGET_BYTES (512ULL << 20)

struct map_reading {
	struct job job;
	struct symbol_files *files;
	struct perfmap *map; /* with a reference; not for the worker's thread */
	bool of_round;	     /* a round asked; else the map is only opened */
	uint64_t round;
	struct perfmap_budget *budget; /* with a reference; NULL unless of_round */

	/* question and answer */
	struct perfmap_process process;
	struct held_fd *held; /* with a reference */
	struct perfmap_seen seen;
	struct answers answers;
	bool is_another; /* the map is another file than was known */
	uint64_t stale, no_room;
	int error;
};

/* ---- on the worker's thread ---- */

/* Returns whether the map is the known file and hasn't shrunk. Else lines count from the file's
 * begin, or, if another process or program left the file, from its present end. */
static bool is_known(struct map_reading *mine, const struct perfmap_found *now)
{
	struct perfmap_seen *seen = &mine->seen;
	uint64_t bytes = seen->end > seen->from ? seen->end : seen->from;
	bool execed = seen->found.program && now->program != seen->found.program;
	bool same = !execed && seen->found.inode && now->device == seen->found.device &&
		    now->inode == seen->found.inode;
	bool cut = same && now->bytes < bytes; /* this process has begun its map anew */

	if (same && !cut)
		return true;
	mine->is_another = true;
	seen->settled = seen->end = 0;
	seen->from = now->is_older && !cut ? now->bytes : 0;
	return false;
}

/* Opens the map, or keeps the one that is open. Returns its descriptor, which `held` or *own owns,
 * or a negative errno. */
static int open_now(struct map_reading *mine, int *own)
{
	struct perfmap_found now = mine->seen.found;
	_cleanup_close_ int fd = perfmap_open(&mine->process, &now);
	struct stat stat;

	if (fd >= 0 && mine->seen.looked && mine->seen.found.program &&
	    now.program != mine->seen.found.program) {
		close(TAKE_FD(fd));
		fd = -ESRCH; /* the process runs another program by now */
	}
	if (fd < 0 && !mine->seen.looked) /* the map may be another program's */
		held_fd_unref(TAKE_PTR(mine->held));
	if (fd < 0 && !mine->held)
		return fd;
	if (fd < 0) { /* the process is gone, the held map is complete */
		if (fstat(mine->held->fd, &stat) < 0)
			return -errno;
		return (uint64_t)stat.st_size < mine->seen.end ? -ESTALE : mine->held->fd;
	}
	bool known = is_known(mine, &now);
	mine->seen.found = now;
	mine->seen.looked = true;
	if (known && mine->held)
		return mine->held->fd;
	held_fd_unref(TAKE_PTR(mine->held));
	*own = TAKE_FD(fd);
	if (fd_budget_take() && !(mine->held = held_fd_new(own, mine->job.worker, mine->job.whose)))
		fd_budget_give();
	return mine->held ? mine->held->fd : *own;
}

/* Looks up the questions, within what the user's maps have left of the round's budget. */
static int answer_within(struct map_reading *mine, struct perfmap_lookup *lookup, int fd)
{
	struct perfmap_budget *budget = mine->budget;
	uint64_t began_ns = loop_now_ns();

	if (!budget)
		return -ENOMEM;
	uint64_t ns = atomic_load(&budget->ns), bytes = atomic_load(&budget->bytes);
	if (ns >= BUDGET_NS || bytes >= BUDGET_BYTES)
		return -ETIME;
	lookup->until_ns = began_ns + BUDGET_NS - ns;
	lookup->bytes_max = BUDGET_BYTES - bytes;
	int r = answers_read(&mine->answers, fd, lookup);
	atomic_fetch_add(&budget->ns, loop_now_ns() - began_ns);
	atomic_fetch_add(&budget->bytes, lookup->bytes);
	return r;
}

static void run_reading(struct job *job)
{
	struct map_reading *mine = (struct map_reading *)job;
	_cleanup_close_ int own = -1;
	int fd = open_now(mine, &own);

	if (fd < 0) {
		mine->error = fd;
		return;
	}
	struct perfmap_lookup lookup = {
		.from = mine->seen.from,
		.settled = mine->seen.settled,
		.end = mine->seen.end,
	};
	mine->error =
		mine->of_round ? answer_within(mine, &lookup, fd) : perfmap_end(fd, &lookup.end);
	if (mine->error)
		lookup.end = mine->seen.end;
	mine->seen.end = lookup.end;
	mine->stale = lookup.stale;
	mine->no_room = lookup.no_room;
}

/* ---- on the loop's thread ---- */

static void count_losses(const struct map_reading *mine, bool finished)
{
	uint64_t all = mine->answers.count;

	if (!finished) {
		perfmap_lose(mine->files,
			     mine->job.end == JOB_REFUSED ? PERFMAP_LOST_REFUSED
			     : mine->job.end == JOB_SLOW  ? PERFMAP_LOST_SLOW
							  : PERFMAP_LOST_HUNG,
			     all);
		return;
	}
	perfmap_lose(mine->files, PERFMAP_LOST_STALE, mine->error == -ESTALE ? all : mine->stale);
	perfmap_lose(mine->files, PERFMAP_LOST_NO_ROOM,
		     mine->error == -ENOMEM ? all : mine->no_room);
	switch (mine->error) {
	case 0:
	case -ENOENT:
	case -ENOTDIR:
	case -ESRCH:
	case -ESTALE:
	case -ENOMEM:
		return;
	case -ETIME:
		perfmap_lose(mine->files, PERFMAP_LOST_SLOW, all);
		return;
	case -EPERM:
		perfmap_lose(mine->files, PERFMAP_LOST_FOREIGN, all);
		return;
	case -EFBIG:
	case -E2BIG:
		perfmap_lose(mine->files, PERFMAP_LOST_TOO_LARGE, all);
		return;
	default:
		perfmap_lose(mine->files, PERFMAP_LOST_UNREADABLE, all);
	}
}

static void reading_ended(struct job *job, bool finished)
{
	struct map_reading *mine = (struct map_reading *)job;
	struct perfmap *map = mine->map;
	bool awaited = mine->of_round && mine->files->reads && mine->round == mine->files->rounds;

	map->readings--;
	if (mine->of_round)
		map->of_rounds--;
	if (awaited)
		map->asked = 0;
	if (!finished && job->end != JOB_REFUSED) {
		map->hangs = true;
		map->is_slow = job->end == JOB_SLOW;
		held_fd_unref(TAKE_PTR(map->held));
	} else if (finished) {
		struct perfmap_seen was = map->seen;

		held_fd_unref(map->held);
		map->held = TAKE_PTR(mine->held);
		map->seen = mine->seen;
		map->seen.settled = mine->is_another ? 0 : mine->of_round ? was.end : was.settled;
		if (!mine->of_round && !mine->is_another)
			map->seen.end = was.end;
	}
	map->starved |= mine->of_round && mine->error == -ETIME;
	if (awaited)
		count_losses(mine, finished);
	if (finished && awaited && mine->error == 0) {
		answers_done(&map->answers);
		map->answers = mine->answers;
		mine->answers = (struct answers){0};
		map->answered = true;
	}
	if (awaited)
		files_one_less(mine->files);
}

static void free_reading(struct job *job)
{
	struct map_reading *mine = (struct map_reading *)job;

	perfmap_budget_unref(mine->budget);
	held_fd_unref(mine->held);
	answers_done(&mine->answers);
	perfmap_unref(mine->map);
	free(mine);
}

bool perfmap_submit(struct symbol_files *files, struct perfmap *map, bool of_round)
{
	struct map_reading *mine = calloc(1, sizeof(*mine));

	if (!mine)
		return false;
	atomic_fetch_add(&map->refs, 1);
	mine->job = (struct job){.run = run_reading, .done = reading_ended, .free = free_reading};
	mine->job.whose = map->process.whose;
	mine->files = files;
	mine->map = map;
	mine->of_round = of_round;
	mine->round = files->rounds;
	mine->process = map->process;
	mine->held = held_fd_ref(map->held);
	mine->seen = map->seen;
	if (of_round) {
		map->of_rounds++;
		mine->budget = perfmap_budget_of(files, map->process.whose);
		mine->answers = map->answers;
		map->answers = (struct answers){0};
	}
	map->readings++;
	worker_submit(files->worker, &mine->job);
	return true;
}
