// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/registry_parts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "file/vdso.h"
#include "proc/maps.h"

#define FILES_MAX	 65536
#define NO_DEBUGGING_DIR 0

int symbol_files_new(struct symbol_files **ret, struct worker *worker)
{
	_cleanup_free_ struct symbol_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->worker = worker;
	int r = map_new(&files->by_id, sizeof(struct file_id), sizeof(struct symbol_file *),
			FILES_MAX);
	if (r == 0)
		r = map_new(&files->perfmaps, FILES_PERFMAP_KEY, sizeof(struct perfmap *),
			    FILES_PERFMAPS_MAX);
	if (r == 0)
		r = files_new_rooms(files);
	if (r < 0) {
		map_free(files->by_id);
		map_free(files->perfmaps);
		shares_free(files->room);
		return r;
	}
	*ret = TAKE_PTR(files);
	return 0;
}

void symbol_files_free(struct symbol_files *files)
{
	struct symbol_file **file;
	const struct file_id *id;

	if (!files)
		return;
	files_forget_wanted(files);
	files_forget_late(files);
	hung_fs_done(&files->hung);
	map_each (files->by_id, pos, id, file)
		symbol_file_unref(*file);
	map_free(files->by_id);
	shares_free(files->room);
	shares_free(files->late_room);
	symbol_file_unref(files->vdso);
	symbol_file_unref(files->vdso_narrow);
	symbol_file_unref(files->left_out);
	files_free_perfmaps(files);
	free(files);
}

/* Makes a file's key. The folder is part of it, as the same file may be in several folders, by
 * links or by mounts. */
static void identify_file(struct file_id *id, const struct stat *stat, const char *path,
			  const struct symbol_search *search)
{
	const struct symbol_root *root = search->root;
	const char *debugging_dir = search->debugging_dir, *slash = strrchr(path, '/');

	*id = (struct file_id){.debugging_dir = NO_DEBUGGING_DIR, .whose = search->whose};
	open_request_identify(&id->content, stat);
	if (root)
		id->root = hash_bytes(root->device, &root->inode, sizeof(root->inode));
	if (debugging_dir && debugging_dir[0])
		id->debugging_dir = hash_bytes(1, debugging_dir, strlen(debugging_dir));
	id->folder = hash_bytes(1, path, slash ? (size_t)(slash - path) : 0);
}

static void identify_known(struct file_id *id, const struct symbol_file *file)
{
	const struct symbol_search search = {file->root, file->debugging_dir, file->whose,
					     file->payer};

	identify_file(id, &file->stat, file->path, &search);
}

uint64_t symbol_file_where(const struct symbol_file *file)
{
	struct file_id id;

	identify_known(&id, file);
	id.content = (struct open_request_id){0};
	return hash_bytes(1, &id, sizeof(id)) | 1;
}

static int newest_first(const void *a, const void *b)
{
	const struct by_use *left = a, *right = b;

	return left->last_used > right->last_used ? -1 : left->last_used < right->last_used;
}

struct by_use *files_list(const struct symbol_files *files, size_t *count)
{
	struct by_use *list = calloc(map_count(files->by_id) + 1, sizeof(*list));
	struct symbol_file **file;
	const struct file_id *id;

	*count = 0;
	if (!list)
		return NULL;
	map_each (files->by_id, pos, id, file)
		list[(*count)++] = (struct by_use){(*file)->last_used, *id, *file};
	qsort(list, *count, sizeof(*list), newest_first);
	return list;
}

/* Closes the files that weren't used for long, as few descriptors are left for new files. A closed
 * file is opened again if need be. */
static void hold_fewer(struct symbol_files *files)
{
	size_t count, held = 0;
	_cleanup_free_ struct by_use *list = files_list(files, &count);

	for (size_t i = 0; list && i < count; i++) {
		struct symbol_file *file = list[i].file;

		if (file->held && ++held > fd_budget_max() / 2)
			file_let_go(file);
	}
}

/* Keeps *fd if the file isn't open; without memory *fd stays the caller's. */
static void hold_fd(struct symbol_file *file, int *fd)
{
	if (!file->held && *fd >= 0)
		file->held = held_fd_new(fd, file->worker, file->payer);
}

struct symbol_file *symbol_files_get(struct symbol_files *files, int *fd, const struct stat *stat,
				     const char *path, const struct symbol_search *search)
{
	struct symbol_file **slot;
	struct file_id id;

	if (fd_budget_is_scarce())
		hold_fewer(files);
	identify_file(&id, stat, path, search);
	slot = map_get(files->by_id, &id);
	if (slot) {
		(*slot)->last_used = ++files->uses;
		hold_fd(*slot, fd);
		return symbol_file_ref(*slot);
	}
	_cleanup_(file_unref) struct symbol_file *file = file_new(path, search->debugging_dir);
	if (!file)
		return NULL;
	file->root = symbol_root_ref(search->root);
	file->whose = search->whose;
	file->worker = files->worker;
	file->stat = *stat;
	file->payer = search->payer;
	hold_fd(file, fd);
	file->last_used = ++files->uses;
	if (map_put(files->by_id, &id, (void **)&slot) == 1)
		*slot = symbol_file_ref(file);
	return TAKE_PTR(file);
}

struct symbol_file *symbol_files_again(struct symbol_file *before, int *fd, const struct stat *stat,
				       const struct symbol_search *search)
{
	struct file_id was, is;

	identify_known(&was, before);
	identify_file(&is, stat, before->path, search);
	was.content.changed_s = is.content.changed_s;
	was.content.changed_ns = is.content.changed_ns;
	if (memcmp(&was, &is, sizeof(is)) != 0)
		return NULL;
	hold_fd(before, fd);
	return symbol_file_ref(before);
}

static struct symbol_file *make_vdso(struct worker *worker, bool narrow)
{
	struct symbol_file *file = file_new("[vdso]", NULL);

	if (!file)
		return file;
	file->is_narrow_vdso = narrow;
	_cleanup_close_ int fd = vdso_open(narrow);
	file->error = fd < 0 ? fd : -EAGAIN;
	if (fd < 0 || fstat(fd, &file->stat) < 0 || !fd_budget_take())
		return file;
	file->worker = worker;
	hold_fd(file, &fd);
	if (file->held)
		file->error = 0;
	else
		fd_budget_give();
	return file;
}

/* A failure that may pass isn't kept: the next process has it tried again. */
struct symbol_file *symbol_files_vdso(struct symbol_files *files, bool narrow)
{
	struct symbol_file **kept = narrow ? &files->vdso_narrow : &files->vdso;

	if (*kept)
		return symbol_file_ref(*kept);
	struct symbol_file *file = make_vdso(files->worker, narrow);
	if (file && (!file->error || file->error == -ENOENT || file->error == -EBADMSG))
		*kept = symbol_file_ref(file);
	return file;
}

struct symbol_file *symbol_files_left_out(struct symbol_files *files)
{
	if (!files->left_out)
		files->left_out = symbol_file_nameless(MAPS_LEFT_OUT);
	return files->left_out ? symbol_file_ref(files->left_out) : NULL;
}

void symbol_files_trim(struct symbol_files *files, size_t keep)
{
	size_t count, unused = 0;
	_cleanup_free_ struct by_use *list = files_list(files, &count);

	files_forget_answers(files);
	for (size_t i = 0; list && i < count; i++) {
		struct symbol_file *file = list[i].file;

		if (atomic_load(&file->refs) > 1)
			continue;
		file_let_go(file);
		if (++unused <= keep)
			continue;
		files_forget_functions(files, file);
		files_forget_lines(files, file);
		map_del(files->by_id, &list[i].id);
		symbol_file_unref(file);
	}
}

void symbol_files_stats(const struct symbol_files *files, struct symbol_files_stats *stats)
{
	struct symbol_file **file;
	const struct file_id *id;

	*stats = files->stats;
	stats->files = map_count(files->by_id);
	map_each (files->by_id, pos, id, file) {
		stats->unreadable += (*file)->error != 0;
		stats->held += (*file)->held != NULL;
	}
}
