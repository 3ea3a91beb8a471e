// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Search for a CPython whose symbols are in a debug file that this host doesn't have by build id: a
 * debug file in the process's own root, or one named by .gnu_debuglink. The target decides where
 * that file lies, so the search may hang or be slow. It is a job of its own, after the table was
 * built, so that a search that hangs costs nothing else.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/debugfile.h"
#include "unwind/tables_state.h"

struct python_search {
	struct job job;
	struct hung_run *run_state;
	struct tables *tables;
	struct table *table;	  /* for the loop's thread only, not for search_run() */
	struct symbol_file *file; /* owns the path of `opening` */
	struct open_request opening;
	struct cpython_file *found;
	bool in_root; /* the debug file is in the process's own root */
};

/* ---- on the worker's thread ---- */

/* Opens the debug file. Its content counts for all processes with that file, so it must belong to
 * root or the file's owner; the process's user isn't enough. */
static int open_debug(const struct python_search *mine, int fd, int root_fd, bool *in_root)
{
	struct debug_search search = {
		.root_fd = mine->opening.root ? root_fd : -1,
		.path = mine->opening.path,
		.debugging_dir = symbol_file_debugging_dir(mine->file),
	};
	struct debug_found found = {0};

	if (mine->opening.root && root_fd < 0)
		return -ENOENT; /* our root would be a wrong one */
	int debug_fd = debugfile_open(fd, &search, &found);
	*in_root = found.where == DEBUG_IN_ROOT;
	free(found.path);
	return debug_fd;
}

static void search_run(struct job *job)
{
	struct python_search *mine = (struct python_search *)job;
	_cleanup_close_ int root_fd = open_request_open_root(&mine->opening);
	_cleanup_close_ int own = -1;
	int fd = open_request_open(&mine->opening, root_fd, &own);

	if (fd < 0)
		return;
	_cleanup_close_ int debug_fd = open_debug(mine, fd, root_fd, &mine->in_root);
	if (debug_fd >= 0 && python_is_brief(debug_fd))
		python_read(fd, debug_fd, &mine->found);
	if (open_request_check(&mine->opening, fd) < 0)
		free(TAKE_PTR(mine->found));
}

/* ---- on the loop's thread ---- */

static void search_done(struct job *job, bool finished)
{
	struct python_search *mine = (struct python_search *)job;
	struct tables *tables = mine->tables;
	struct table *table = mine->table;

	table->searching = false;
	struct hung_file hung = open_request_hung_file(&mine->opening);
	hung.where = symbol_file_where(mine->file);
	hung_fs_add(&tables->hung, &hung, job->end, mine->run_state, true);
	if (!finished)
		return;
	symbol_file_hold(mine->file, &mine->opening);
	if (!mine->found || table->python)
		return;
	table->python = TAKE_PTR(mine->found);
	if (mine->in_root)
		table->python_root = symbol_root_ref(mine->opening.root);
	tables->stats.pythons_late++;
	if (tables->arena)
		table_show(table);
	tables->changed(tables->arg);
}

static void free_search(struct job *job)
{
	struct python_search *mine = (struct python_search *)job;

	free(mine->found);
	open_request_done(&mine->opening);
	symbol_file_unref(mine->file);
	hung_run_end(mine->run_state);
	free(mine);
}

void python_search(struct tables *tables, struct table *table, struct symbol_file *file)
{
	struct python_search *mine = table->searching ? NULL : calloc(1, sizeof(*mine));

	if (!mine)
		return;
	mine->job = (struct job){.run = search_run, .done = search_done, .free = free_search};
	mine->tables = tables;
	mine->table = table;
	mine->file = symbol_file_ref(file);
	mine->run_state = hung_run_new();
	int r = symbol_file_opening(file, &table->place, &mine->opening);
	struct hung_file hung = open_request_hung_file(&mine->opening);
	hung.where = symbol_file_where(file);
	mine->job.whose = hung.whose;
	if (r < 0 || hung_fs_has(&tables->hung, &hung) != HUNG_NOT) {
		free_search(&mine->job);
		return;
	}
	table->searching = true;
	worker_submit(tables->worker, &mine->job);
}
