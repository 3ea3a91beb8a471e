/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files with code that targets have mapped: one object for each distinct file, shared by all
 * processes. Of a file's functions only those are kept that stacks had; others are read when a
 * stack first has them (file/reader.h), so that a browser's symbol table costs no memory.
 *
 * A file is told by device, inode, size and times, and by where and for whom its debug file is
 * looked for. So a file that claims another's build id, a container's debug file, or one that a
 * user laid beside another's file for his own processes, names only its own frames.
 *
 * Files are held open while somebody has them mapped, as many as elf/held.h allows, those that
 * were used last; another one is opened anew through a process that has it mapped. Once that has
 * ended its functions may be lost, which is counted.
 *
 * The registry belongs to the loop's thread; references may be dropped on any. One round at a time:
 *
 *	symbol_files_begin() -> symbol_file_want() … -> symbol_files_read() -> passed()
 *	-> symbol_file_find() …, on any thread, until the next round
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "loop/worker.h"
#include "elf/module.h"
#include "file/opening.h"

struct symbol_file;
struct symbol_files;

/* `worker` reads the tables and closes files; both can hang. -ENOMEM */
int symbol_files_new(struct symbol_files **ret, struct worker *worker);
void symbol_files_free(struct symbol_files *files);

/* Where a file's debug file is looked for, beside its path, and for whom. All may be empty. */
struct symbol_search {
	struct symbol_root *root;  /* of its process; NULL: ours */
	const char *debugging_dir; /* NULL: none */
	/* The process's user, as a job's, where another one's processes may not take the same debug
	 * file. 0: all do. */
	uint64_t whose;
	/* Whose work reading the file is, as a job's, if it isn't known yet. */
	uint64_t payer;
};

/*
 * The file of which `stat` was read where that may take its time. *fd: it, open, with its place
 * (held_take()), or -1; where it is of use it is taken over (*fd becomes -1). `path` is as the
 * process sees it. The caller gets a reference; NULL: no memory.
 */
struct symbol_file *symbol_files_get(struct symbol_files *files, int *fd, const struct stat *stat,
				     const char *path, const struct symbol_search *search);

/*
 * The same file again, of which `before` was mapped all the while: so its inode is still its own,
 * and only its time of change may be another one: that of its last new name, or of losing one (a
 * library is replaced). NULL: it isn't. *fd as above. The caller gets a reference.
 */
struct symbol_file *symbol_files_again(struct symbol_file *before, int *fd, const struct stat *stat,
				       const struct symbol_search *search);

/* A file that could not be looked at: it has a name and no functions. */
struct symbol_file *symbol_file_nameless(const char *path);

/* The same for all that was too much to be looked at. */
struct symbol_file *symbol_files_left_out(struct symbol_files *files);

/* This kernel's vDSO, the same for all 64-bit processes. */
struct symbol_file *symbol_files_vdso(struct symbol_files *files);

struct symbol_file *symbol_file_ref(struct symbol_file *file);
void symbol_file_unref(struct symbol_file *file);

/* For a job that reads it otherwise: what it needs to open the file. The caller keeps a reference
 * to the file as long. -ENOENT: it can't be opened, it is but a name. */
int symbol_file_opening(const struct symbol_file *file, const struct symbol_place *place,
			struct opening *opening);

/* The folder with debug files that the user named for its process; NULL: none. On any thread. */
const char *symbol_file_debugging_dir(const struct symbol_file *file);

/* Tells where its debug file is looked for (struct hung_file); never 0. On any thread. */
uint64_t symbol_file_where(const struct symbol_file *file);

/* The root of its process; NULL: ours. Borrowed. */
const struct symbol_root *symbol_file_root(const struct symbol_file *file);

/* Keeps open what such a job opened. */
void symbol_file_hold(struct symbol_file *file, struct opening *opening);

/* A round begins: functions that were not used for long make room. */
void symbol_files_begin(struct symbol_files *files);

/* The function at that file offset is wanted. `place` is where it can be opened. */
void symbol_file_want(struct symbol_files *files, struct symbol_file *file, uint64_t offset,
		      const struct symbol_place *place);

/* Reads what is wanted and isn't known; calls passed(arg) when all is read or given up, which may
 * be at once, or when enough(arg) says so (worker_fence(); NULL: never). What goes on then counts
 * as late; it is there for the next round. */
void symbol_files_read(struct symbol_files *files, bool (*enough)(void *arg),
		       void (*passed)(void *arg), void *arg);

struct symbol_function {
	const char *name; /* as people read it (elf/demangle.h); NULL: it has none. Valid until
			     the next round. */
	uint64_t address; /* its first instruction, as the file was linked */
};

/* False: nothing is known of that place. */
bool symbol_file_find(const struct symbol_file *file, uint64_t offset,
		      struct symbol_function *function);

/* Where in which segment that file offset is, as the file was linked. The module's texts are
 * borrowed from the file. False: nothing is known of that place. On any thread, as above. */
bool symbol_file_locate(const struct symbol_file *file, uint64_t offset, struct module *module,
			uint64_t *address);

/* Between rounds: forgets files that nothing refers to, beyond the `keep` last used, and holds none
 * of them open. */
void symbol_files_trim(struct symbol_files *files, size_t keep);

/* The last part of its path. */
const char *symbol_file_module(const struct symbol_file *file);

/* Memory made for code at run time (a memfd that is no ELF file). */
bool symbol_file_is_jit(const struct symbol_file *file);

/* Why functions could not be looked up. */
enum symbol_loss {
	SYMBOL_LOST_GONE,	   /* its file is not open any more, and its process has ended */
	SYMBOL_LOST_CHANGED,	   /* its file was written to or replaced */
	SYMBOL_LOST_HUNG,	   /* its file system hangs */
	SYMBOL_LOST_SLOW,	   /* its file takes too long to read, and isn't for ten minutes */
	SYMBOL_LOST_LATE,	   /* not read in time: the next window has it */
	SYMBOL_LOST_REFUSED,	   /* too many readings of its owner's files hang */
	SYMBOL_LOST_NO_ROOM,	   /* its owner's files have too long names */
	SYMBOL_LOST_NO_DESCRIPTOR, /* too many files are open (RLIMIT_NOFILE) */
	SYMBOL_LOST_UNREADABLE,	   /* reading failed, or there is no memory */
	SYMBOL_LOST_DEBUG,	   /* its debug file isn't taken: struct debug_found.refused */
	SYMBOL_LOST_COUNT
};

const char *symbol_loss_name(enum symbol_loss loss);

/* Why made code has no name that its process may have told (symbol/perfmap.h). */
enum perfmap_loss {
	PERFMAP_LOST_FOREIGN,	 /* its map is no regular file of its own user */
	PERFMAP_LOST_STALE,	 /* only lines from before it have one */
	PERFMAP_LOST_TOO_LARGE,	 /* it is too much to read */
	PERFMAP_LOST_HUNG,	 /* its file system hangs */
	PERFMAP_LOST_SLOW,	 /* its user's maps took all their time or bytes of the window */
	PERFMAP_LOST_LATE,	 /* not read in time */
	PERFMAP_LOST_REFUSED,	 /* too many readings of its user's hang */
	PERFMAP_LOST_NO_ROOM,	 /* too many maps, addresses or names */
	PERFMAP_LOST_UNREADABLE, /* opening or reading failed */
	PERFMAP_LOST_COUNT
};

const char *perfmap_loss_name(enum perfmap_loss loss);

struct symbol_files_stats {
	uint64_t files, unreadable, held;
	uint64_t bytes;			  /* of the functions that are known */
	uint64_t readings;		  /* of a file's tables, since the start */
	uint64_t lost[SYMBOL_LOST_COUNT]; /* distinct addresses of a window, since the start */
	uint64_t perfmaps_lost[PERFMAP_LOST_COUNT]; /* the same */
};
void symbol_files_stats(const struct symbol_files *files, struct symbol_files_stats *stats);
