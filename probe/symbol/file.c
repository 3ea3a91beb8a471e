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
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "base/hash.h"
#include "base/map.h"
#include "symbol/debugfile.h"

#define FILES_MAX	 65536
#define VDSO_MAX	 65536
#define NO_DEBUGGING_DIR 0
#define HUNG_MAX	 16
#define HUNG_NS		 (600 * NS_PER_S)
#define TABLE_BYTES_MAX	 (256ULL * 1024 * 1024)

struct symbol_root {
	atomic_uint refs;
	int fd;
	uint64_t device, inode;
};

/* What makes a file the same; all bytes count. */
struct file_id {
	uint64_t device, inode, bytes;
	int64_t modified_s, modified_ns, changed_s, changed_ns;
	uint64_t root, debugging_dir; /* hashes of where debug files are looked for */
};

enum state { UNREAD, READING, READ };

struct symbol_file {
	atomic_uint refs;
	int fd;
	char *path, *debugging_dir;
	struct symbol_root *root;
	struct native_table *table;
	enum state state;
	int error;
	uint64_t last_used;
	struct worker *worker; /* that closes its fd */
	uint64_t device;
};

/* A file system that hung: nothing is asked of it for a while. */
struct hung {
	uint64_t device;
	uint64_t until_ns;
};

struct symbol_files {
	struct worker *worker;
	struct map *by_id; /* file_id -> struct symbol_file *, each with a reference */
	struct symbol_file *vdso;
	uint64_t uses;
	uint64_t table_bytes; /* of all tables */
	struct hung hung[HUNG_MAX];
	unsigned hung_next;
};

struct symbol_root *symbol_root_new(int *fd, const struct stat *theirs)
{
	struct stat ours;

	if (*fd < 0 || stat("/", &ours) < 0)
		return NULL;
	if (theirs->st_dev == ours.st_dev && theirs->st_ino == ours.st_ino)
		return NULL;
	struct symbol_root *root = calloc(1, sizeof(*root));
	if (!root)
		return NULL;
	root->refs = 1;
	root->fd = TAKE_FD(*fd);
	root->device = theirs->st_dev;
	root->inode = theirs->st_ino;
	return root;
}

struct symbol_root *symbol_root_ref(struct symbol_root *root)
{
	if (root)
		atomic_fetch_add(&root->refs, 1);
	return root;
}

void symbol_root_unref(struct symbol_root *root)
{
	if (!root || atomic_fetch_sub(&root->refs, 1) > 1)
		return;
	close(root->fd);
	free(root);
}

struct symbol_file *symbol_file_ref(struct symbol_file *file)
{
	atomic_fetch_add(&file->refs, 1);
	return file;
}

void symbol_file_unref(struct symbol_file *file)
{
	if (!file || atomic_fetch_sub(&file->refs, 1) > 1)
		return;
	if (file->fd >= 0)
		close_later(file->worker, &file->fd, 1);
	symbol_root_unref(file->root);
	native_table_free(file->table);
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

void symbol_files_free(struct symbol_files *files)
{
	struct symbol_file **file;
	const struct file_id *id;

	if (!files)
		return;
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

	if (file) {
		file->state = READ;
		file->error = -ENOENT;
	}
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

struct symbol_file *symbol_files_get(struct symbol_files *files, int *fd, const struct stat *stat,
				     const char *path, struct symbol_root *root,
				     const char *debugging_dir)
{
	struct symbol_file **slot;
	struct file_id id;

	identify(&id, stat, root, debugging_dir);
	slot = map_get(files->by_id, &id);
	if (slot) {
		(*slot)->last_used = ++files->uses;
		return symbol_file_ref(*slot);
	}
	_cleanup_(unref_file) struct symbol_file *file = file_new(path, debugging_dir);
	if (!file)
		return NULL;
	file->root = symbol_root_ref(root);
	file->worker = files->worker;
	file->device = id.device;
	file->fd = TAKE_FD(*fd);
	file->last_used = ++files->uses;
	if (map_put(files->by_id, &id, (void **)&slot) == 1)
		*slot = symbol_file_ref(file);
	return TAKE_PTR(file);
}

/* The vDSO lies in our own memory as in everyone's; how long it is, its section table tells, which
 * every linker puts last. */
static struct symbol_file *read_vdso(void)
{
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	struct symbol_file *file = symbol_file_nameless("[vdso]");

	if (!image || !file)
		return file;
	uint64_t bytes = image->e_shoff + (uint64_t)image->e_shnum * image->e_shentsize;
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && bytes <= VDSO_MAX && write(fd, image, bytes) == (ssize_t)bytes)
		file->error = native_table_load(&file->table, fd, -1);
	return file;
}

struct symbol_file *symbol_files_vdso(struct symbol_files *files)
{
	if (!files->vdso)
		files->vdso = read_vdso();
	return files->vdso ? symbol_file_ref(files->vdso) : NULL;
}

/* Reading a table. The job has a reference, for it may be given up. */
struct load_job {
	struct job job;
	struct symbol_files *files;
	struct symbol_file *file;
	struct native_table *table;
	int error;
};

static void load_run(struct job *job)
{
	struct load_job *load = (struct load_job *)job;
	struct symbol_file *file = load->file;
	struct debug_search search = {
		.root_fd = file->root ? file->root->fd : -1,
		.path = file->path,
		.debugging_dir = file->debugging_dir,
	};
	_cleanup_close_ int debug_fd = debugfile_open(file->fd, &search);

	load->error = native_table_load(&load->table, file->fd, debug_fd);
	close(TAKE_FD(file->fd)); /* all that is wanted of it is in the table */
}

static void remember_hung(struct symbol_files *files, uint64_t device)
{
	files->hung[files->hung_next++ % HUNG_MAX] = (struct hung){device, loop_now_ns() + HUNG_NS};
}

static bool is_hung(const struct symbol_files *files, uint64_t device)
{
	uint64_t now = loop_now_ns();

	for (int i = 0; i < HUNG_MAX; i++) {
		if (files->hung[i].device == device && now < files->hung[i].until_ns)
			return true;
	}
	return false;
}

static void load_done(struct job *job, bool finished)
{
	struct load_job *load = (struct load_job *)job;
	struct symbol_file *file = load->file;

	file->state = READ;
	if (!finished) {
		file->error = -ETIMEDOUT;
		remember_hung(load->files, file->device);
		return;
	}
	file->table = TAKE_PTR(load->table);
	file->error = load->error;
	/* A container's root must not be kept busy. */
	symbol_root_unref(TAKE_PTR(file->root));
	if (file->table)
		load->files->table_bytes += native_table_bytes(file->table);
}

static void load_free(struct job *job)
{
	struct load_job *load = (struct load_job *)job;

	native_table_free(load->table);
	symbol_file_unref(load->file);
	free(load);
}

static void refuse_to_load(struct symbol_file *file, int error)
{
	file->state = READ;
	file->error = error;
	close_later(file->worker, &file->fd, 1);
	file->fd = -1;
}

void symbol_file_load(struct symbol_files *files, struct symbol_file *file)
{
	if (file->state != UNREAD)
		return;
	if (is_hung(files, file->device) || files->table_bytes > TABLE_BYTES_MAX) {
		refuse_to_load(file, is_hung(files, file->device) ? -ETIMEDOUT : -EDQUOT);
		return;
	}
	struct load_job *load = calloc(1, sizeof(*load));
	if (!load)
		return; /* the next stack asks again */
	load->job = (struct job){.run = load_run, .done = load_done, .free = load_free};
	load->files = files;
	load->file = symbol_file_ref(file);
	file->state = READING;
	worker_submit(files->worker, &load->job);
}

int symbol_files_fence(struct symbol_files *files, void (*passed)(void *arg), void *arg)
{
	return worker_fence(files->worker, passed, arg);
}

struct unused {
	uint64_t last_used;
	struct file_id id;
};

static int newest_first(const void *a, const void *b)
{
	const struct unused *left = a, *right = b;

	return left->last_used > right->last_used ? -1 : left->last_used < right->last_used;
}

void symbol_files_trim(struct symbol_files *files, size_t keep)
{
	_cleanup_free_ struct unused *unused = calloc(map_count(files->by_id) + 1, sizeof(*unused));
	struct symbol_file **file;
	const struct file_id *id;
	size_t count = 0;

	if (!unused)
		return;
	map_each (files->by_id, pos, id, file) {
		if (atomic_load(&(*file)->refs) == 1)
			unused[count++] = (struct unused){(*file)->last_used, *id};
	}
	qsort(unused, count, sizeof(*unused), newest_first);
	for (size_t i = keep; i < count; i++) {
		file = map_get(files->by_id, &unused[i].id);
		if ((*file)->table)
			files->table_bytes -= native_table_bytes((*file)->table);
		symbol_file_unref(*file);
		map_del(files->by_id, &unused[i].id);
	}
}

const struct native_table *symbol_file_table(const struct symbol_file *file)
{
	return file->table;
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

void symbol_files_stats(const struct symbol_files *files, struct symbol_files_stats *stats)
{
	struct symbol_file **file;
	const struct file_id *id;

	*stats = (struct symbol_files_stats){.files = map_count(files->by_id),
					     .table_bytes = files->table_bytes};
	map_each (files->by_id, pos, id, file) {
		if ((*file)->state == READ && (*file)->error)
			stats->unreadable++;
	}
}
