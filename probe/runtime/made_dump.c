// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/made_dump.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "elf/fd_budget.h"
#include "jit/jit_memory.h"
#include "runtime/made_dump_open.h"

#define REST_NS	   (10 * NS_PER_MS) /* between two readings for rows, and … */
#define REST_TIMES 50		    /* … times the CPU time of the last one */

struct made_dump {
	unsigned users;	  /* references of the loop's thread: without any, all but this is gone */
	atomic_uint refs; /* to the memory: the users', and that of a reading */
	struct made_dump_place place; /* with a path of its own */
	uint64_t whose;
	struct worker *worker;
	void (*changed)(void *arg, pid_t pid); /* NULL: nobody wants to know any more */
	void *arg;
	bool reading;
	bool is_gone; /* the process ended, and the file isn't held open: it is read no more */
	int error;
	struct held_fd *held;  /* the open file; NULL: not open */
	struct jitdump *known; /* NULL: nothing */
	struct jit_rows rows;  /* of what is known; their words may have gone to `table` */
	size_t rows_memory;    /* taken for them */
	uint64_t rows_count;
	struct table *table; /* with a reference; NULL: none */
	uint64_t read_ns;    /* when the last reading began; 0: there was none */
	uint64_t next_ns;    /* no earlier reading for rows */
};

int made_dump_new(struct made_dump **ret, const struct made_dump_place *place, uint64_t whose,
		  struct worker *worker, void (*changed)(void *arg, pid_t pid), void *arg)
{
	struct made_dump *dump = calloc(1, sizeof(*dump));
	char *path = strdup(place->path);

	if (!dump || !path) {
		free(dump);
		free(path);
		return -ENOMEM;
	}
	*dump = (struct made_dump){
		.users = 1,
		.refs = 1,
		.place = *place,
		.whose = whose,
		.worker = worker,
		.changed = changed,
		.arg = arg,
		.error = -EAGAIN,
	};
	dump->place.path = path;
	*ret = dump;
	return 0;
}

struct made_dump *made_dump_ref(struct made_dump *dump)
{
	if (dump)
		dump->users++;
	return dump;
}

static void drop_rows(struct made_dump *dump)
{
	jit_rows_done(&dump->rows);
	jit_memory_give(dump->whose, dump->rows_memory);
	dump->rows_memory = 0;
	dump->rows_count = 0;
	table_unref(TAKE_PTR(dump->table));
}

/* Drops a reference to the memory. Any thread. */
static void forget_dump(struct made_dump *dump)
{
	if (atomic_fetch_sub(&dump->refs, 1) > 1)
		return;
	free((char *)dump->place.path);
	free(dump);
}

void made_dump_unref(struct made_dump *dump)
{
	if (!dump || --dump->users)
		return;
	drop_rows(dump);
	held_fd_unref(TAKE_PTR(dump->held));
	jitdump_unref(TAKE_PTR(dump->known));
	forget_dump(dump);
}

bool made_dump_is_of(const struct made_dump *dump, const struct made_dump_place *place)
{
	return dump && dump->place.inode == place->inode && dump->place.device == place->device &&
	       dump->place.program == place->program;
}

/* ---- a reading, in a job ---- */

struct dump_reading {
	struct job job;
	struct made_dump *dump; /* its memory is there; `place` alone is for the worker's thread */
	bool wants_rows;	/* also if they are the same as before */

	/* question and answer */
	struct held_fd *held;  /* with a reference */
	struct jitdump *known; /* with a reference */
	struct jit_rows rows;
	size_t rows_memory;
	bool has_rows; /* `rows` takes the place of those before, if it is empty, too */
	uint64_t began_ns, cpu_ns;
	int error;
};

/* Returns a descriptor, which `held` or *own owns, or a negative errno. */
static int open_dump(struct dump_reading *mine, int *own)
{
	if (mine->held)
		return mine->held->fd;
	int fd = made_dump_open(&mine->dump->place);

	if (fd < 0)
		return fd;
	*own = fd;
	if (fd_budget_take() && !(mine->held = held_fd_new(own, mine->job.worker, mine->job.whose)))
		fd_budget_give();
	return mine->held ? mine->held->fd : *own;
}

/* Makes the table anew. Without room functions have names alone. */
static int make_rows(struct dump_reading *mine)
{
	int r = jitdump_make_rows(mine->known, &mine->rows);
	size_t bytes = mine->rows.image.count * sizeof(*mine->rows.image.words) +
		       JIT_PIECES_MAX * sizeof(*mine->rows.pieces);

	if (r == 0 && !jit_memory_take(mine->job.whose, bytes))
		r = -ENOSPC;
	else if (r == 0)
		mine->rows_memory = bytes;
	if (r < 0)
		jit_rows_done(&mine->rows);
	mine->has_rows = true;
	return r == -ENOMEM ? r : 0;
}

static int read_dump(struct dump_reading *mine)
{
	struct jitdump *before = mine->known;
	_cleanup_close_ int own = -1;
	const struct jitdump_source source = {
		.fd = open_dump(mine, &own),
		.pid = mine->dump->place.ns_pid,
		.whose = mine->job.whose,
		.now_ns = mine->began_ns,
	};

	if (source.fd < 0)
		return source.fd;
	int r = jitdump_read(&mine->known, before, &source);
	if (r < 0)
		return r;
	if (jitdump_rows_differ(mine->known, before) ||
	    (mine->wants_rows && jitdump_has_rows(mine->known)))
		r = make_rows(mine);
	jitdump_unref(before);
	return r;
}

static void run_reading(struct job *job)
{
	struct dump_reading *mine = (struct dump_reading *)job;
	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	mine->began_ns = clock_ns(CLOCK_MONOTONIC);
	mine->error = read_dump(mine);
	mine->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

/* ---- on the loop's thread ---- */

static void take_rows(struct made_dump *dump, struct dump_reading *mine)
{
	drop_rows(dump);
	dump->rows = mine->rows;
	dump->rows_memory = mine->rows_memory;
	dump->rows_count = mine->rows.image.stats.rows;
	mine->rows = (struct jit_rows){0};
	mine->rows_memory = 0;
	if (dump->changed)
		dump->changed(dump->arg, dump->place.pid);
}

/* Returns whether another reading may do what this one could not. */
static bool is_passing(int error)
{
	return error == -EAGAIN || error == -ENOSPC || error == -ENOMEM || error == -EMFILE ||
	       error == -ENFILE;
}

/* Notes why the file isn't read on: then its rows may be wrong. */
static void set_error(struct made_dump *dump, int error)
{
	dump->error = error;
	if (!error || !dump->rows.count)
		return;
	drop_rows(dump);
	if (dump->changed)
		dump->changed(dump->arg, dump->place.pid);
}

static void reading_ended(struct job *job, bool finished)
{
	struct dump_reading *mine = (struct dump_reading *)job;
	struct made_dump *dump = mine->dump;
	uint64_t rest_ns = mine->cpu_ns * REST_TIMES;

	dump->reading = false;
	if (!dump->users)
		return;
	if (!finished) { /* one that is slow had no CPU: its time is bounded */
		if (job->end == JOB_HANGS)
			set_error(dump, -ETIMEDOUT);
		return;
	}
	dump->next_ns = loop_now_ns() + (rest_ns > REST_NS ? rest_ns : REST_NS);
	held_fd_unref(dump->held);
	dump->held = TAKE_PTR(mine->held);
	dump->is_gone = dump->known && mine->error == -ESRCH;
	if (dump->is_gone)
		return;
	set_error(dump, mine->error);
	if (mine->error)
		return;
	dump->read_ns = mine->began_ns;
	jitdump_unref(dump->known);
	dump->known = TAKE_PTR(mine->known);
	if (mine->has_rows)
		take_rows(dump, mine);
}

static void free_reading(struct job *job)
{
	struct dump_reading *mine = (struct dump_reading *)job;

	held_fd_unref(mine->held);
	jitdump_unref(mine->known);
	jit_rows_done(&mine->rows);
	jit_memory_give(mine->job.whose, mine->rows_memory);
	forget_dump(mine->dump);
	free(mine);
}

/* Returns whether there are rows that aren't in the arena (any more). */
static bool lacks_table(const struct made_dump *dump)
{
	return dump->rows.count && !(dump->table && table_is_there(dump->table));
}

void made_dump_read(struct made_dump *dump)
{
	struct dump_reading *mine;

	if (dump->reading || dump->is_gone || (dump->error && !is_passing(dump->error)))
		return;
	mine = calloc(1, sizeof(*mine));
	if (!mine)
		return;
	mine->job = (struct job){.run = run_reading,
				 .done = reading_ended,
				 .free = free_reading,
				 .whose = dump->whose};
	atomic_fetch_add(&dump->refs, 1);
	mine->dump = dump;
	mine->wants_rows = lacks_table(dump);
	mine->held = held_fd_ref(dump->held);
	mine->known = jitdump_ref(dump->known);
	dump->reading = true;
	worker_submit(dump->worker, &mine->job);
}

/* ---- what is known ---- */

uint64_t made_dump_next_ns(const struct made_dump *dump, uint64_t stack_ns)
{
	bool is_wanted =
		!dump->known || jitdump_has_rows(dump->known) || jitdump_has_more(dump->known);

	if (!is_wanted || stack_ns <= dump->read_ns || dump->is_gone ||
	    (dump->error && !is_passing(dump->error)))
		return 0;
	if (dump->reading) /* it may have begun before */
		return loop_now_ns() + REST_NS;
	return dump->next_ns ? dump->next_ns : 1;
}

const char *made_dump_find(const struct made_dump *dump, uint64_t address, uint64_t from_ns,
			   uint64_t until_ns, struct jitdump **holder, size_t *len)
{
	/* What was written since the last reading may have taken the function's place. */
	if (!dump || dump->error || !dump->known || until_ns > dump->read_ns)
		return NULL;
	*holder = dump->known;
	return jitdump_find(dump->known, address, from_ns, until_ns, len);
}

const struct jit_rows *made_dump_rows(struct made_dump *dump, struct tables *tables,
				      struct table **table)
{
	if (!dump || !dump->rows.count)
		return NULL;
	if (dump->rows.image.words) {
		size_t bytes = dump->rows.image.count * sizeof(*dump->rows.image.words);

		dump->table = tables_give(tables, &dump->rows.image);
		image_done(&dump->rows.image);
		jit_memory_give(dump->whose, bytes);
		dump->rows_memory -= bytes;
	}
	*table = dump->table;
	return lacks_table(dump) ? NULL : &dump->rows;
}

bool made_dump_has_names(const struct made_dump *dump)
{
	return dump && !dump->error && dump->known && jitdump_functions(dump->known);
}

const struct jitdump *made_dump_state(const struct made_dump *dump, uint64_t *rows, int *error)
{
	*rows = dump->rows_count;
	*error = dump->error;
	return dump->known;
}
