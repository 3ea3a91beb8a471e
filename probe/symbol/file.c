// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "base/hash.h"
#include "base/map.h"
#include "symbol/held.h"
#include "symbol/hung.h"
#include "symbol/ranges.h"

#define FILES_MAX	 65536
#define VDSO_MAX	 65536
#define NO_DEBUGGING_DIR 0
#define BYTES_KEPT	 (8u * 1024 * 1024)  /* of functions, between rounds */
#define BYTES_MAX	 (64u * 1024 * 1024) /* in one */

/* What makes a file the same; all bytes count. */
struct file_id {
	uint64_t device, inode, bytes;
	int64_t modified_s, modified_ns, changed_s, changed_ns;
	uint64_t root, debugging_dir; /* hashes of where debug files are looked for */
};

struct symbol_file {
	atomic_uint refs;
	int fd; /* held open, or -1 */
	char *path, *debugging_dir;
	struct symbol_root *root; /* NULL: ours */
	struct stat stat;
	struct debug_found debug;
	struct ranges ranges;
	int error; /* of what is in it: it won't become better */
	bool reading;
	uint64_t last_used;
	struct worker *worker; /* that closes its fd */

	/* of a round */
	struct native_function *wanted; /* only their offsets count */
	size_t wanted_count, wanted_capacity;
	struct symbol_place place;
	struct symbol_file *next_wanted; /* with a reference */
};

struct symbol_files {
	struct worker *worker;
	struct map *by_id; /* file_id -> struct symbol_file *, each with a reference */
	struct symbol_file *vdso;
	uint64_t uses;
	struct symbol_files_stats stats;
	struct hung hung;

	/* of a round */
	struct symbol_file *wanted;
	size_t readings; /* that go on */
	void (*passed)(void *arg);
	void *arg;
};

struct symbol_file *symbol_file_ref(struct symbol_file *file)
{
	atomic_fetch_add(&file->refs, 1);
	return file;
}

static void let_go(struct symbol_file *file)
{
	if (file->fd < 0)
		return;
	close_later(file->worker, &file->fd, 1);
	file->fd = -1;
	held_give();
}

void symbol_file_unref(struct symbol_file *file)
{
	if (!file || atomic_fetch_sub(&file->refs, 1) > 1)
		return;
	let_go(file);
	symbol_root_unref(file->root);
	ranges_done(&file->ranges);
	free(file->debug.path);
	free(file->wanted);
	free(file->path);
	free(file->debugging_dir);
	free(file);
}

static void unref_file(struct symbol_file **file)
{
	symbol_file_unref(*file);
}

int symbol_files_new(struct symbol_files **ret, struct worker *worker)
{
	_cleanup_free_ struct symbol_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->worker = worker;
	int r = map_new(&files->by_id, sizeof(struct file_id), sizeof(struct symbol_file *),
			FILES_MAX);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(files);
	return 0;
}

static void forget_wanted(struct symbol_files *files)
{
	while (files->wanted) {
		struct symbol_file *file = files->wanted;

		files->wanted = file->next_wanted;
		file->wanted_count = 0;
		symbol_file_unref(file);
	}
}

void symbol_files_free(struct symbol_files *files)
{
	struct symbol_file **file;
	const struct file_id *id;

	if (!files)
		return;
	forget_wanted(files);
	map_each (files->by_id, pos, id, file)
		symbol_file_unref(*file);
	map_free(files->by_id);
	symbol_file_unref(files->vdso);
	free(files);
}

static struct symbol_file *file_new(const char *path, const char *debugging_dir)
{
	_cleanup_(unref_file) struct symbol_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->refs = 1;
	file->fd = -1;
	file->path = strdup(path);
	if (!file->path)
		return NULL;
	if (debugging_dir && debugging_dir[0]) {
		file->debugging_dir = strdup(debugging_dir);
		if (!file->debugging_dir)
			return NULL;
	}
	return TAKE_PTR(file);
}

struct symbol_file *symbol_file_nameless(const char *path)
{
	struct symbol_file *file = file_new(path, NULL);

	if (file)
		file->error = -ENOENT;
	return file;
}

static void identify(struct file_id *id, const struct stat *stat, const struct symbol_root *root,
		     const char *debugging_dir)
{
	*id = (struct file_id){
		.device = stat->st_dev,
		.inode = stat->st_ino,
		.bytes = (uint64_t)stat->st_size,
		.modified_s = stat->st_mtim.tv_sec,
		.modified_ns = stat->st_mtim.tv_nsec,
		.changed_s = stat->st_ctim.tv_sec,
		.changed_ns = stat->st_ctim.tv_nsec,
		.debugging_dir = NO_DEBUGGING_DIR,
	};
	if (root)
		id->root = hash_bytes(root->device, &root->inode, sizeof(root->inode));
	if (debugging_dir && debugging_dir[0])
		id->debugging_dir = hash_bytes(1, debugging_dir, strlen(debugging_dir));
}

struct by_use {
	uint64_t last_used;
	struct file_id id;
	struct symbol_file *file; /* borrowed */
};

static int newest_first(const void *a, const void *b)
{
	const struct by_use *left = a, *right = b;

	return left->last_used > right->last_used ? -1 : left->last_used < right->last_used;
}

/* All files, those last used first. NULL: no memory. */
static struct by_use *list_files(const struct symbol_files *files, size_t *count)
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

/* Few places are left for files that come: those not used for long are opened anew if need be. */
static void hold_fewer(struct symbol_files *files)
{
	size_t count, held = 0;
	_cleanup_free_ struct by_use *list = list_files(files, &count);

	for (size_t i = 0; list && i < count; i++) {
		struct symbol_file *file = list[i].file;

		if (file->fd >= 0 && ++held > held_max() / 2)
			let_go(file);
	}
}

struct symbol_file *symbol_files_get(struct symbol_files *files, int *fd, const struct stat *stat,
				     const char *path, struct symbol_root *root,
				     const char *debugging_dir)
{
	struct symbol_file **slot;
	struct file_id id;

	if (held_are_scarce())
		hold_fewer(files);
	identify(&id, stat, root, debugging_dir);
	slot = map_get(files->by_id, &id);
	if (slot) {
		(*slot)->last_used = ++files->uses;
		if ((*slot)->fd < 0 && !(*slot)->reading)
			(*slot)->fd = TAKE_FD(*fd);
		return symbol_file_ref(*slot);
	}
	_cleanup_(unref_file) struct symbol_file *file = file_new(path, debugging_dir);
	if (!file)
		return NULL;
	file->root = symbol_root_ref(root);
	file->worker = files->worker;
	file->stat = *stat;
	file->fd = TAKE_FD(*fd);
	file->last_used = ++files->uses;
	if (map_put(files->by_id, &id, (void **)&slot) == 1)
		*slot = symbol_file_ref(file);
	return TAKE_PTR(file);
}

/* The vDSO lies in our own memory as in everyone's; how long it is, its section table tells, which
 * every linker puts last. */
static struct symbol_file *make_vdso(struct worker *worker)
{
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	struct symbol_file *file = file_new("[vdso]", NULL);

	if (!image || !file)
		return file;
	file->error = -ENOENT;
	uint64_t bytes = image->e_shoff + (uint64_t)image->e_shnum * image->e_shentsize;
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || bytes > VDSO_MAX || write(fd, image, bytes) != (ssize_t)bytes ||
	    fstat(fd, &file->stat) < 0 || !held_take())
		return file;
	file->error = 0;
	file->worker = worker;
	file->fd = TAKE_FD(fd);
	return file;
}

struct symbol_file *symbol_files_vdso(struct symbol_files *files)
{
	if (!files->vdso)
		files->vdso = make_vdso(files->worker);
	return files->vdso ? symbol_file_ref(files->vdso) : NULL;
}

/* ---- a round ---- */

static void forget_functions(struct symbol_files *files, struct symbol_file *file)
{
	files->stats.bytes -= ranges_bytes(&file->ranges);
	ranges_done(&file->ranges);
}

void symbol_files_begin(struct symbol_files *files)
{
	size_t count, bytes = 0;

	if (files->stats.bytes <= BYTES_KEPT)
		return;
	_cleanup_free_ struct by_use *list = list_files(files, &count);
	for (size_t i = 0; list && i < count; i++) {
		bytes += ranges_bytes(&list[i].file->ranges);
		if (bytes > BYTES_KEPT / 4 * 3)
			forget_functions(files, list[i].file);
	}
}

void symbol_file_want(struct symbol_files *files, struct symbol_file *file, uint64_t offset,
		      const struct symbol_place *place)
{
	file->last_used = ++files->uses;
	if (file->error || ranges_find(&file->ranges, offset))
		return;
	if (file->wanted_count == file->wanted_capacity) {
		size_t capacity = file->wanted_capacity ? file->wanted_capacity * 2 : 16;
		struct native_function *grown =
			reallocarray(file->wanted, capacity, sizeof(*grown));

		if (!grown) {
			files->stats.lost[SYMBOL_LOST_UNREADABLE]++;
			return;
		}
		file->wanted = grown;
		file->wanted_capacity = capacity;
	}
	if (!file->wanted_count) {
		file->next_wanted = files->wanted;
		files->wanted = symbol_file_ref(file);
	}
	file->wanted[file->wanted_count++] = (struct native_function){.offset = offset};
	if (place->pid)
		file->place = *place;
}

struct file_reading {
	struct reading reading;
	struct symbol_files *files;
	struct symbol_file *file; /* with a reference: the job may be given up */
	struct symbol_root *root;
};

static enum symbol_loss loss_of(int error)
{
	switch (error) {
	case -ESRCH:
		return SYMBOL_LOST_GONE;
	case -ESTALE:
		return SYMBOL_LOST_CHANGED;
	case -ETIMEDOUT:
		return SYMBOL_LOST_HUNG;
	case -EMFILE:
	case -ENFILE:
		return SYMBOL_LOST_NO_DESCRIPTOR;
	default:
		return SYMBOL_LOST_UNREADABLE;
	}
}

static bool is_lasting(int error)
{
	return error == -ENOEXEC || error == -EBADMSG || error == -EFBIG;
}

static void keep_functions(struct symbol_files *files, struct symbol_file *file,
			   const struct reading *reading)
{
	int r = reading->error;
	size_t before = ranges_bytes(&file->ranges);

	if (r == 0 && files->stats.bytes > BYTES_MAX)
		r = -ENOSPC;
	if (r == 0)
		r = ranges_add(&file->ranges, reading->functions, reading->count, &reading->names);
	files->stats.bytes += ranges_bytes(&file->ranges) - before;
	if (is_lasting(r))
		file->error = r;
	else if (r < 0)
		files->stats.lost[loss_of(r)] += reading->count;
}

static void one_less(struct symbol_files *files)
{
	if (--files->readings == 0)
		files->passed(files->arg);
}

static void reading_done(struct reading *reading, bool finished)
{
	struct file_reading *mine = (struct file_reading *)reading;
	struct symbol_files *files = mine->files;
	struct symbol_file *file = mine->file;

	file->reading = false;
	if (finished) {
		file->debug = reading->debug;
		reading->debug = (struct debug_found){0};
		if (file->fd < 0)
			file->fd = TAKE_FD(reading->fd);
		keep_functions(files, file, reading);
	} else {
		hung_add(&files->hung, file->stat.st_dev);
		files->stats.lost[SYMBOL_LOST_HUNG] += reading->count;
	}
	one_less(files);
}

static void reading_free(struct reading *reading)
{
	struct file_reading *mine = (struct file_reading *)reading;

	symbol_root_unref(mine->root);
	symbol_file_unref(mine->file);
	free(mine);
}

static void start_reading(struct symbol_files *files, struct symbol_file *file)
{
	struct file_reading *mine = calloc(1, sizeof(*mine));
	const struct symbol_root *root = file->root;

	if (!mine) {
		files->stats.lost[SYMBOL_LOST_UNREADABLE] += file->wanted_count;
		file->wanted_count = 0;
		return;
	}
	mine->files = files;
	mine->file = symbol_file_ref(file);
	mine->root = symbol_root_ref(file->root);
	mine->reading = (struct reading){
		.fd = file->fd,
		.place = file->place,
		.stat = &file->stat,
		.path = file->path,
		.debugging_dir = file->debugging_dir,
		.root_fd = root ? root->fd : -1,
		.other_root = root != NULL,
		.root_device = root ? root->device : 0,
		.root_inode = root ? root->inode : 0,
		.debug = file->debug,
		.functions = file->wanted,
		.count = file->wanted_count,
		.done = reading_done,
		.free = reading_free,
	};
	file->fd = -1;
	file->debug = (struct debug_found){0};
	file->wanted = NULL;
	file->wanted_count = file->wanted_capacity = 0;
	file->place.pid = 0; /* it may be another's by the next time */
	file->reading = true;
	files->readings++;
	files->stats.readings++;
	reading_submit(&mine->reading, files->worker);
}

void symbol_files_read(struct symbol_files *files, void (*passed)(void *arg), void *arg)
{
	files->passed = passed;
	files->arg = arg;
	files->readings++; /* until all are on their way */
	while (files->wanted) {
		_cleanup_(unref_file) struct symbol_file *file = files->wanted;

		files->wanted = file->next_wanted;
		if (!hung_has(&files->hung, file->stat.st_dev)) {
			start_reading(files, file);
			continue;
		}
		files->stats.lost[SYMBOL_LOST_HUNG] += file->wanted_count;
		file->wanted_count = 0;
	}
	one_less(files);
}

bool symbol_file_find(const struct symbol_file *file, uint64_t offset,
		      struct symbol_function *function)
{
	const struct range *range = ranges_find(&file->ranges, offset);

	if (!range)
		return false;
	*function = (struct symbol_function){
		.name = ranges_name(&file->ranges, range),
		.address = range->address,
		.is_entry = range->is_entry,
	};
	return true;
}

void symbol_files_trim(struct symbol_files *files, size_t keep)
{
	size_t count, unused = 0;
	_cleanup_free_ struct by_use *list = list_files(files, &count);

	for (size_t i = 0; list && i < count; i++) {
		struct symbol_file *file = list[i].file;

		if (atomic_load(&file->refs) > 1)
			continue;
		let_go(file);
		if (++unused <= keep)
			continue;
		forget_functions(files, file);
		map_del(files->by_id, &list[i].id);
		symbol_file_unref(file);
	}
}

const char *symbol_file_module(const struct symbol_file *file)
{
	const char *slash = strrchr(file->path, '/');

	return slash && slash[1] ? slash + 1 : file->path;
}

bool symbol_file_is_jit(const struct symbol_file *file)
{
	return file->error == -ENOEXEC && strncmp(file->path, "/memfd:", 7) == 0;
}

const char *symbol_loss_name(enum symbol_loss loss)
{
	static const char *const names[SYMBOL_LOST_COUNT] = {
		[SYMBOL_LOST_GONE] = "file_gone",
		[SYMBOL_LOST_CHANGED] = "file_changed",
		[SYMBOL_LOST_HUNG] = "file_hung",
		[SYMBOL_LOST_NO_DESCRIPTOR] = "no_descriptor",
		[SYMBOL_LOST_UNREADABLE] = "unreadable",
	};

	return names[loss];
}

void symbol_files_stats(const struct symbol_files *files, struct symbol_files_stats *stats)
{
	struct symbol_file **file;
	const struct file_id *id;

	*stats = files->stats;
	stats->files = map_count(files->by_id);
	map_each (files->by_id, pos, id, file) {
		stats->unreadable += (*file)->error != 0;
		stats->held += (*file)->fd >= 0;
	}
}
