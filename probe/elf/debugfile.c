// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/debugfile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/foreign.h"
#include "proc/mapped.h"
#include "proc/proc.h"

#define SYSTEM_DEBUG "/usr/lib/debug"
#define SHARED	     "/.dwz/" /* the folder of files that several debug files share */

#define BLOCK_BYTES  16384

/* Users whose debug files are taken. OWNER_OF_FOLDER is the owner of the folder being searched. */
enum { OWNER_OF_FOLDER, OWNER_ROOT, OWNER_OF_FILE, OWNERS_KNOWN, OWNERS_MAX = OWNERS_KNOWN + 2 };

struct wanted_debugfile {
	struct elf_image image; /* of the stripped file */
	char folder[PATH_MAX];	/* the stripped file's folder, "/usr/bin" */
	struct debug_found *found;
	struct debug_process process;
	bool asked; /* ask_process() was called */
	uid_t owners[OWNERS_MAX];
	size_t owners_count;
};

/* A root folder that is searched. */
struct debug_root {
	int fd; /* FOREIGN_HERE: our root */
	enum debug_where where;
	uid_t owner;
};

static const struct debug_root here = {.fd = FOREIGN_HERE, .where = DEBUG_HERE};

static struct wanted_debugfile *wanted_new(int fd, const struct debug_search *search,
					   struct debug_found *found)
{
	struct wanted_debugfile *wanted = calloc(1, sizeof(*wanted));
	struct stat stat;

	if (!wanted)
		return NULL;
	wanted->found = found;
	if (search)
		wanted->process = search->process;
	wanted->owners_count = OWNERS_KNOWN;
	if (fstat(fd, &stat) == 0)
		wanted->owners[OWNER_OF_FILE] = stat.st_uid;
	return wanted;
}

/* Remembers in wanted->found where the debug file `fd` was found; returns `fd`. */
static int keep_found(struct wanted_debugfile *wanted, int fd, const struct debug_root *root,
		      const char *path)
{
	struct debug_found *found = wanted->found;

	free(found->path);
	found->path = strdup(path);
	found->searched = found->path != NULL;
	found->where = root->where;
	if (fstat(fd, &found->stat) < 0)
		found->stat = (struct stat){0}; /* equals no file's */
	return fd;
}

/* Adds the process's user and its namespace's root to the owners, if the process still has the file
 * mapped at the same place: another process may have its pid by now. Returns true if owners were
 * added. */
static bool ask_process(struct wanted_debugfile *wanted)
{
	const struct debug_process *process = &wanted->process;
	const struct mapped mapped = {
		.pid = process->pid, .start = process->start, .end = process->end, .root_fd = -1};
	uid_t user, root;
	struct stat stat;

	if (wanted->asked)
		return false;
	wanted->asked = true;
	if (!process->pid || proc_owners(process->pid, &user, &root) < 0 ||
	    mapped_stat(&mapped, &stat) < 0 || stat.st_dev != process->device ||
	    stat.st_ino != process->inode)
		return false;
	wanted->owners[wanted->owners_count++] = user;
	wanted->owners[wanted->owners_count++] = root;
	return true;
}

/* Returns whether an error means that a file is there but isn't taken; a missing file, or a lack of
 * descriptors, doesn't mean that. */
static bool is_refusal(int error)
{
	return error == -EPERM || error == -EINVAL || error == -ENODEV || error == -ELOOP;
}

static int open_in(const struct debug_root *root, const char *path, struct wanted_debugfile *wanted)
{
	struct foreign file = {
		.root_fd = root->fd,
		.path = path,
		.links = FOREIGN_IN_ROOT,
		.rules = {.owners = wanted->owners, .bytes_min = sizeof(Elf32_Ehdr)},
	};
	int fd;

	wanted->owners[OWNER_OF_FOLDER] = root->owner;
	do {
		file.rules.owners_count = wanted->owners_count;
		fd = foreign_open(&file, NULL);
	} while (fd == -EPERM && ask_process(wanted));
	if (is_refusal(fd))
		wanted->found->refused = true;
	return fd;
}

static bool same_build_id(int fd, const struct elf_image *image)
{
	struct elf_image *debug = malloc(sizeof(*debug));
	bool same = debug && image->build_id_bytes && elf_read(fd, debug) == 0 &&
		    debug->build_id_bytes == image->build_id_bytes &&
		    memcmp(debug->build_id, image->build_id, image->build_id_bytes) == 0;

	free(debug);
	return same;
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* Returns 0 if the file has the CRC of the link; -ENOENT if it hasn't; -EFBIG, -ETIMEDOUT if the
 * check would take too long. */
static int check_crc(int fd, uint32_t wanted)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + DEBUG_CHECKED_MAX_S * NS_PER_S;
	unsigned char block[BLOCK_BYTES];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;

	if (!is_elf(fd))
		return -ENOENT;
	for (;;) {
		ssize_t n = pread(fd, block, sizeof(block), at);

		if (n < 0)
			return -ENOENT;
		if (n == 0)
			return (uint32_t)crc == wanted ? 0 : -ENOENT;
		crc = crc32(crc, block, (uInt)n);
		at += n;
		if (at > DEBUG_CHECKED_MAX)
			return -EFBIG;
		if (clock_ns(CLOCK_MONOTONIC) > until_ns)
			return -ETIMEDOUT;
	}
}

/* Returns whether the file has the build id, or the CRC of the link. */
static bool is_the_link(int fd, struct wanted_debugfile *wanted)
{
	struct stat stat;

	if (same_build_id(fd, &wanted->image))
		return true;
	int r = fstat(fd, &stat) == 0 && stat.st_size > DEBUG_CHECKED_MAX
			? -EFBIG
			: check_crc(fd, wanted->image.debuglink_crc);
	wanted->found->refused |= r == -EFBIG || r == -ETIMEDOUT;
	return r == 0;
}

/* Opens <folder>/.build-id/ab/cdef….debug */
static int by_build_id(const struct debug_root *root, const char *folder,
		       struct wanted_debugfile *wanted)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/.build-id/%02x/", folder,
			   wanted->image.build_id[0]);

	if (wanted->image.build_id_bytes < 2 || len >= (int)(sizeof(path) - 2 * BUILD_ID_MAX - 8))
		return -ENOENT;
	for (size_t i = 1; i < wanted->image.build_id_bytes; i++)
		len += snprintf(path + len, sizeof(path) - (size_t)len, "%02x",
				wanted->image.build_id[i]);
	snprintf(path + len, sizeof(path) - (size_t)len, ".debug");
	_cleanup_close_ int fd = open_in(root, path, wanted);
	if (fd < 0 || !same_build_id(fd, &wanted->image))
		return -ENOENT;
	return keep_found(wanted, TAKE_FD(fd), root, path);
}

static int by_name(const struct debug_root *root, struct wanted_debugfile *wanted,
		   const char *before, const char *folder, const char *after)
{
	char path[PATH_MAX * 2];

	if (!wanted->image.debuglink[0])
		return -ENOENT;
	snprintf(path, sizeof(path), "%s%s%s/%s", before, folder, after, wanted->image.debuglink);
	_cleanup_close_ int fd = open_in(root, path, wanted);
	if (fd < 0 || !is_the_link(fd, wanted))
		return -ENOENT;
	return keep_found(wanted, TAKE_FD(fd), root, path);
}

static int in_root(const struct debug_root *root, struct wanted_debugfile *wanted)
{
	int fd = by_build_id(root, SYSTEM_DEBUG, wanted);

	if (fd < 0)
		fd = by_name(root, wanted, "", wanted->folder, "");
	if (fd < 0)
		fd = by_name(root, wanted, "", wanted->folder, "/.debug");
	if (fd < 0)
		fd = by_name(root, wanted, SYSTEM_DEBUG, wanted->folder, "");
	return fd;
}

/* Opens the folder that the user named; returns -1 if there is none. Links on the way to the folder
 * are followed: the user named them. */
static int open_folder(const char *path, struct debug_root *root)
{
	struct stat stat;

	*root = (struct debug_root){.fd = -1, .where = DEBUG_IN_FOLDER};
	if (path)
		root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->fd >= 0 && fstat(root->fd, &stat) == 0)
		root->owner = stat.st_uid;
	return root->fd;
}

static int in_folder(const char *path, struct wanted_debugfile *wanted)
{
	struct debug_root folder;
	_cleanup_close_ int folder_fd = open_folder(path, &folder);

	if (folder_fd < 0)
		return -ENOENT;
	int fd = by_build_id(&folder, "", wanted);
	if (fd < 0)
		fd = by_build_id(&folder, SYSTEM_DEBUG, wanted);
	if (fd < 0)
		fd = by_name(&folder, wanted, "", wanted->folder, "");
	if (fd < 0)
		fd = by_name(&folder, wanted, "", "", "");
	return fd;
}

/* Returns the process's root. */
static struct debug_root root_of(const struct debug_search *search)
{
	return search->root_fd < 0
		       ? here
		       : (struct debug_root){.fd = search->root_fd, .where = DEBUG_IN_ROOT};
}

/* Returns the file's path below the process's root. For a process in a chroot the kernel gives
 * paths as we see them, for a process in a container as the process sees them. */
static const char *path_in_root(const struct debug_search *search)
{
	char link[64], root[PATH_MAX];

	if (search->root_fd < 0)
		return search->path;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", search->root_fd);
	ssize_t len = readlink(link, root, sizeof(root));
	if (len <= 1 || strncmp(search->path, root, (size_t)len) != 0 || search->path[len] != '/')
		return search->path;
	return search->path + len;
}

int debugfile_open(int fd, const struct debug_search *search, struct debug_found *remembered)
{
	_cleanup_free_ struct wanted_debugfile *wanted = wanted_new(fd, search, remembered);
	const struct debug_root root = root_of(search);

	if (!wanted)
		return -ENOMEM;
	remembered->searched = true;
	remembered->refused = false;
	int r = elf_read(fd, &wanted->image);
	if (r < 0)
		return r;
	const char *path = path_in_root(search), *slash = strrchr(path, '/');
	if (!slash || slash - path >= PATH_MAX)
		return -ENOENT;
	memcpy(wanted->folder, path, (size_t)(slash - path));
	int found = in_folder(search->debugging_dir, wanted);
	if (found < 0)
		found = in_root(&root, wanted);
	if (found < 0 && search->root_fd >= 0)
		found = by_build_id(&here, SYSTEM_DEBUG, wanted);
	if (found >= 0)
		remembered->refused = false;
	return found;
}

int debugfile_of_build_id(int fd, const struct elf_image *image, const char *debugging_dir)
{
	struct debug_found known = {0};
	_cleanup_free_ struct wanted_debugfile *wanted = wanted_new(fd, NULL, &known);
	struct debug_root folder;
	_cleanup_close_ int folder_fd = open_folder(debugging_dir, &folder);
	int found = -ENOENT;

	if (!wanted)
		return -ENOMEM;
	wanted->image = *image;
	if (folder_fd >= 0)
		found = by_build_id(&folder, "", wanted);
	if (found < 0 && folder_fd >= 0)
		found = by_build_id(&folder, SYSTEM_DEBUG, wanted);
	if (found < 0)
		found = by_build_id(&here, SYSTEM_DEBUG, wanted);
	free(known.path);
	return found;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Opens the file at its old path; its owner must be the same user as before. */
int debugfile_open_again(const struct debug_search *search, const struct debug_found *found)
{
	struct foreign file = {
		.root_fd = FOREIGN_HERE,
		.path = found->path,
		.links = FOREIGN_IN_ROOT,
		.rules = {.owners = &found->stat.st_uid, .owners_count = 1},
	};
	_cleanup_close_ int folder_fd = -1;
	struct debug_root folder;
	struct stat stat;

	if (found->where == DEBUG_IN_ROOT)
		file.root_fd = search->root_fd;
	else if (found->where == DEBUG_IN_FOLDER)
		file.root_fd = folder_fd = open_folder(search->debugging_dir, &folder);
	if (!found->path || (found->where != DEBUG_HERE && file.root_fd < 0))
		return -ENOENT;
	_cleanup_close_ int fd = foreign_open(&file, &stat);
	if (fd < 0)
		return is_refusal(fd) ? -ESTALE : fd;
	return same_file(&stat, &found->stat) ? TAKE_FD(fd) : -ESTALE;
}

/* Reads the .gnu_debugaltlink of `fd`: wanted->image gets the build id of the shared file; `path`
 * is the shared file's path below a folder of debug files, or "". */
static int take_shared(int fd, struct wanted_debugfile *wanted, char path[PATH_MAX])
{
	struct elf_image *image = &wanted->image;
	char content[PATH_MAX + BUILD_ID_MAX];
	size_t bytes = image->debugaltlink.bytes;

	if (bytes == 0 || bytes > sizeof(content))
		return -ENOENT;
	int r = elf_pread(fd, content, bytes, image->debugaltlink.offset);
	if (r < 0)
		return r;
	size_t len = strnlen(content, bytes), id = bytes - len - 1;
	if (len >= PATH_MAX || len == bytes || id > BUILD_ID_MAX)
		return -ENOENT;
	memcpy(image->build_id, content + len + 1, id);
	image->build_id_bytes = id;
	const char *at = strstr(content, SHARED);
	snprintf(path, PATH_MAX, "%s", at && !strstr(at, "/../") ? at : "");
	return 0;
}

/* Opens the shared file in one folder of debug files; `path` comes from take_shared(). */
static int shared_in(const struct debug_root *root, const char *folder, const char *path,
		     struct wanted_debugfile *wanted)
{
	char whole[PATH_MAX * 2];
	int found = by_build_id(root, folder, wanted);

	if (found >= 0 || !path[0])
		return found;
	snprintf(whole, sizeof(whole), "%s%s", folder, path);
	_cleanup_close_ int fd = open_in(root, whole, wanted);
	return fd >= 0 && same_build_id(fd, &wanted->image) ? TAKE_FD(fd) : -ENOENT;
}

int debugfile_open_shared(int fd, const struct debug_search *search)
{
	struct debug_found known = {0};
	_cleanup_free_ struct wanted_debugfile *wanted = wanted_new(fd, search, &known);
	const struct debug_root root = root_of(search);
	char path[PATH_MAX] = "";
	struct debug_root folder;
	_cleanup_close_ int folder_fd = open_folder(search->debugging_dir, &folder);
	int found = -ENOENT;

	if (!wanted)
		return -ENOMEM;
	int r = elf_read(fd, &wanted->image);
	if (r == 0)
		r = take_shared(fd, wanted, path);
	if (r < 0)
		return r;
	if (folder_fd >= 0)
		found = shared_in(&folder, "", path, wanted);
	if (found < 0 && folder_fd >= 0)
		found = shared_in(&folder, SYSTEM_DEBUG, path, wanted);
	if (found < 0)
		found = shared_in(&root, SYSTEM_DEBUG, path, wanted);
	if (found < 0 && search->root_fd >= 0)
		found = shared_in(&here, SYSTEM_DEBUG, path, wanted);
	free(known.path);
	return found;
}

int debug_found_copy(struct debug_found *copy, const struct debug_found *found)
{
	struct debug_found made = *found;

	if (found->path) {
		made.path = strdup(found->path);
		if (!made.path)
			return -ENOMEM;
	}
	*copy = made;
	return 0;
}
