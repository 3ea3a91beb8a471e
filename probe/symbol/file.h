/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files with code that targets have mapped: one object for each distinct file, shared by all
 * processes, its functions read when a stack first needs them.
 *
 * A file is told by device, inode, size and times, and by where its debug file is looked for. So a
 * file that claims another's build id, or a container's debug file, names only its own frames.
 *
 * The registry belongs to the loop's thread; references may be dropped on any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/worker.h"
#include "symbol/native.h"

/* The root folder of a process. */
struct symbol_root;

/* The root of a process, from an O_PATH fd, which is taken over (*fd becomes -1) unless it is the
 * same as ours: then NULL. */
struct symbol_root *symbol_root_new(int *fd, const struct stat *stat);
struct symbol_root *symbol_root_ref(struct symbol_root *root);
void symbol_root_unref(struct symbol_root *root);

struct symbol_file;
struct symbol_files;

/* `worker` reads the tables and closes files; both can hang. -ENOMEM */
int symbol_files_new(struct symbol_files **ret, struct worker *worker);
void symbol_files_free(struct symbol_files *files);

/*
 * The file behind *fd, of which `stat` was read where that may take its time. A file that is new
 * takes the fd over (*fd becomes -1). `path` is as the process sees it. The caller gets a
 * reference; NULL: no memory.
 */
struct symbol_file *symbol_files_get(struct symbol_files *files, int *fd, const struct stat *stat,
				     const char *path, struct symbol_root *root,
				     const char *debugging_dir);

/* A file that could not be opened: it has a name and no functions. */
struct symbol_file *symbol_file_nameless(const char *path);

/* This kernel's vDSO, the same for all 64-bit processes. */
struct symbol_file *symbol_files_vdso(struct symbol_files *files);

struct symbol_file *symbol_file_ref(struct symbol_file *file);
void symbol_file_unref(struct symbol_file *file);

/* Has its functions read by the worker, unless that was done already. */
void symbol_file_load(struct symbol_files *files, struct symbol_file *file);

/* Calls passed(arg) when all that were asked for are read or given up. -ENOMEM */
int symbol_files_fence(struct symbol_files *files, void (*passed)(void *arg), void *arg);

/* Forgets files that nothing refers to, beyond the `keep` last used. */
void symbol_files_trim(struct symbol_files *files, size_t keep);

/* NULL: not read, or could not be. Stays as long as the reference to the file. */
const struct native_table *symbol_file_table(const struct symbol_file *file);

/* The last part of its path. */
const char *symbol_file_module(const struct symbol_file *file);

/* Memory made for code at run time (a memfd that is no ELF file). */
bool symbol_file_is_jit(const struct symbol_file *file);

struct symbol_files_stats {
	uint64_t files, table_bytes, unreadable;
};
void symbol_files_stats(const struct symbol_files *files, struct symbol_files_stats *stats);
