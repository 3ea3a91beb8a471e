/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registry of the files with code that targets have mapped, and cache of their functions: one
 * object for each distinct file, shared by all processes. Only functions that were on stacks are
 * kept; a function is read when a stack first has it (file/symbol_job.h), so that a browser's
 * symbol table costs no memory.
 *
 * The key of a file is its device, inode, size and times, and where and for whom its debug file is
 * searched. So a file that claims another file's build id, a container's debug file, or a debug
 * file that a user put beside another user's file, names only its own frames.
 *
 * Files are held open while somebody has them mapped, as many as elf/fd_budget.h allows: those used
 * last. Other files are opened again through a process that has them mapped; when that process has
 * ended, functions may be lost, which is counted.
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

#include "bpf/shared/named.h"
#include "loop/worker.h"
#include "elf/module.h"
#include "file/open_request.h"

struct symbol_file;
struct symbol_files;

/* Returns 0 or -ENOMEM. `worker` reads symbol tables and closes files; both can hang. */
int symbol_files_new(struct symbol_files **ret, struct worker *worker);
void symbol_files_free(struct symbol_files *files);

/* Where a file's debug file is searched, in addition to its path, and for whom. Fields may be 0. */
struct symbol_search {
	struct symbol_root *root;  /* of the process; NULL: ours */
	const char *debugging_dir; /* the folder that the user named; NULL: none */
	/* The process's user (job_of()) if another user's processes may not take the same debug
	 * file. 0: all users take it. */
	uint64_t whose;
	/* The user (job_of()) whose work reading the file is, if the file isn't known yet. */
	uint64_t payer;
};

/*
 * Returns a reference to the file with that `stat`, adding the file if it is new; NULL without
 * memory. `stat` was read in a job, as that may hang. *fd is the open file, with its place of
 * fd_budget_take(), or -1; if the registry keeps the descriptor, *fd becomes -1. `path` is the
 * file's path as the process sees it.
 */
struct symbol_file *symbol_files_get(struct symbol_files *files, int *fd, const struct stat *stat,
				     const char *path, const struct symbol_search *search);

/*
 * Returns a reference to `before` if `stat` is that of the same file; else NULL. `before` was
 * mapped all the time, so its inode wasn't given to another file. Only st_ctime may differ, which
 * changes when the file gets or loses a name (a library is replaced). *fd as above.
 */
struct symbol_file *symbol_files_again(struct symbol_file *before, int *fd, const struct stat *stat,
				       const struct symbol_search *search);

/* Returns a file that has a path but no functions, for one that couldn't be examined; NULL without
 * memory. The caller owns the reference, here and below. */
struct symbol_file *symbol_file_nameless(const char *path);

/* Returns the one file without functions that stands for all mappings that were too many. */
struct symbol_file *symbol_files_left_out(struct symbol_files *files);

/* Returns this kernel's vDSO, the same for all 64-bit processes, or for all 32-bit ones (narrow).
 */
struct symbol_file *symbol_files_vdso(struct symbol_files *files, bool narrow);

struct symbol_file *symbol_file_ref(struct symbol_file *file);
void symbol_file_unref(struct symbol_file *file);

/* Fills *opening for a job that reads the file in its own way; the caller ends it with
 * open_request_done() and keeps a reference to the file until then. Returns 0, or -ENOENT if the
 * file can't be opened as it is only a name. */
int symbol_file_opening(const struct symbol_file *file, const struct symbol_place *place,
			struct open_request *opening);

/* Returns the path as a process sees the file, or what stands for it: "[vdso]". */
const char *symbol_file_path(const struct symbol_file *file);

/* Returns the folder of debug files that the user named for the file's process; NULL: none. Any
 * thread. */
const char *symbol_file_debugging_dir(const struct symbol_file *file);

/* Returns a hash of where the file's debug file is searched (struct hung_file); never 0. Any
 * thread. */
uint64_t symbol_file_where(const struct symbol_file *file);

/* Returns the root of the file's process, borrowed; NULL: ours. */
const struct symbol_root *symbol_file_root(const struct symbol_file *file);

/* Keeps the descriptor that such a job opened, if the file has none. */
void symbol_file_hold(struct symbol_file *file, struct open_request *opening);

/* Begins a round: functions that weren't used for long are forgotten if memory is short. */
void symbol_files_begin(struct symbol_files *files);

/* Asks for the function at a file offset. `place` says where the file can be opened. */
void symbol_file_want(struct symbol_files *files, struct symbol_file *file, uint64_t offset,
		      const struct symbol_place *place);

/* Reads the wanted functions that aren't known. Calls passed(arg) when all are read or given up,
 * which may be before this returns, or when enough(arg) says so (worker_fence(); NULL: never).
 * Readings that aren't finished then count as late; their functions are there in the next round. */
void symbol_files_read(struct symbol_files *files, bool (*enough)(void *arg),
		       void (*passed)(void *arg), void *arg);

struct symbol_function {
	const char *name; /* demangled (elf/demangle.h); NULL: no name. Valid until the next
			     round. */
	uint64_t address; /* of the first instruction, as the file was linked */
};

/* Looks up the function at a file offset; returns false if that isn't known. Any thread, until the
 * next round. */
bool symbol_file_find(const struct symbol_file *file, uint64_t offset,
		      struct symbol_function *function);

/* Sets *address to the address of a file offset, as the file was linked, and *module to the segment
 * that holds it; the module's texts are borrowed from the file. Returns false if that isn't known.
 * Any thread, until the next round. */
bool symbol_file_locate(const struct symbol_file *file, uint64_t offset, struct module *module,
			uint64_t *address);

/* Closes files to which only the registry refers, and forgets all of these but the `keep` last
 * used. Between rounds. */
void symbol_files_trim(struct symbol_files *files, size_t keep);

/* Returns the last component of the file's path. */
const char *symbol_file_module(const struct symbol_file *file);

/* Returns whether the file may name frames of each process: neither its root nor its user matter.
 */
bool symbol_file_is_everyones(const struct symbol_file *file);
bool symbol_file_is_vdso(const struct symbol_file *file);
bool symbol_file_is_narrow_vdso(const struct symbol_file *file);
void symbol_file_stat(const struct symbol_file *file, struct stat *stat);

/* Returns whether the file is memory for code made at run time (a memfd that is no ELF file). */
bool symbol_file_is_jit(const struct symbol_file *file);

/* Why functions could not be looked up. */
#define SYMBOL_LOSSES(X)                                                                           \
	/* the file isn't open any more, and its process has ended */                              \
	X(SYMBOL_LOST_GONE, "file_gone")                                                           \
	X(SYMBOL_LOST_CHANGED, "file_changed") /* the file was written to or replaced */           \
	X(SYMBOL_LOST_HUNG, "file_hung")       /* the file system hangs */                         \
	/* reading took too long; not tried again for ten minutes */                               \
	X(SYMBOL_LOST_SLOW, "file_slow")                                                           \
	X(SYMBOL_LOST_LATE, "file_late") /* not read in time: the next window has it */            \
	/* too many readings of the owner's files hang */                                          \
	X(SYMBOL_LOST_REFUSED, "file_refused")                                                     \
	X(SYMBOL_LOST_NO_ROOM, "no_room") /* the names of the owner's files are too long */        \
	/* too many files are open (RLIMIT_NOFILE) */                                              \
	X(SYMBOL_LOST_NO_DESCRIPTOR, "no_descriptor")                                              \
	X(SYMBOL_LOST_UNREADABLE, "unreadable") /* reading failed, or there is no memory */        \
	/* the debug file isn't taken: struct debug_found.refused */                               \
	X(SYMBOL_LOST_DEBUG, "debug_refused")
enum symbol_loss { SYMBOL_LOSSES(NAMED_VALUE) SYMBOL_LOST_COUNT };

const char *symbol_loss_name(enum symbol_loss loss);

/* Why JIT code has no name from its process's perf map (symbol/perfmap.h). */
#define PERFMAP_LOSSES(X)                                                                          \
	/* the map is no regular file of the process's user */                                     \
	X(PERFMAP_LOST_FOREIGN, "foreign")                                                         \
	X(PERFMAP_LOST_STALE, "stale")	       /* only lines older than the process have a name */ \
	X(PERFMAP_LOST_TOO_LARGE, "too_large") /* the map is too large to read */                  \
	X(PERFMAP_LOST_HUNG, "hung")	       /* the map's file system hangs */                   \
	/* the user's maps have used up the window's time or bytes */                              \
	X(PERFMAP_LOST_SLOW, "slow")                                                               \
	X(PERFMAP_LOST_LATE, "late")		 /* not read in time */                            \
	X(PERFMAP_LOST_REFUSED, "refused")	 /* too many readings of the user's files hang */  \
	X(PERFMAP_LOST_NO_ROOM, "no_room")	 /* too many maps, addresses or names */           \
	X(PERFMAP_LOST_UNREADABLE, "unreadable") /* opening or reading failed */
enum perfmap_loss { PERFMAP_LOSSES(NAMED_VALUE) PERFMAP_LOST_COUNT };

const char *perfmap_loss_name(enum perfmap_loss loss);

struct symbol_files_stats {
	uint64_t files, unreadable, held;
	uint64_t bytes;			  /* of the known functions */
	uint64_t readings;		  /* times a file's tables were read, since the start */
	uint64_t lost[SYMBOL_LOST_COUNT]; /* distinct addresses a window, since the start */
	uint64_t perfmaps_lost[PERFMAP_LOST_COUNT]; /* distinct addresses a window */
};
void symbol_files_stats(const struct symbol_files *files, struct symbol_files_stats *stats);

/* Rows of struct symbol_files_stats (measure/measure.h). */
extern const struct measures symbol_measures;
