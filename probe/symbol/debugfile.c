// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <zlib.h>

#include "base/cleanup.h"

#define SYSTEM_DEBUG "/usr/lib/debug"
#define CHECKED_MAX  (4LL << 30) /* read whole to check it against its link */
#define SHARED	     "/.dwz/"	 /* the folder of what several debug files share */

struct wanted {
	struct elf_image image; /* of the file itself */
	char folder[PATH_MAX];	/* its folder, "/usr/bin" */
	struct debug_found *found;
	int64_t checked_max;
};

/* It was found: remembers where. */
static int keep(struct wanted *wanted, int fd, int root_fd, const char *path)
{
	struct debug_found *found = wanted->found;

	free(found->path);
	found->path = strdup(path);
	found->searched = found->path != NULL;
	found->in_root = root_fd >= 0;
	if (fstat(fd, &found->stat) < 0)
		found->stat = (struct stat){0}; /* is no file: won't be taken for the same */
	return fd;
}

/* A regular file below the root, or -errno. Opening a FIFO or a device does nothing. */
static int open_in(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int fd = -1;
	struct stat stat;

	if (root_fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	else
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &stat) < 0)
		return -errno;
	return S_ISREG(stat.st_mode) ? TAKE_FD(fd) : -ENOENT;
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

static bool same_crc(int fd, uint32_t wanted, int64_t bytes_max)
{
	unsigned char block[16384];
	uLong crc = crc32(0, NULL, 0);
	struct stat stat;

	if (fstat(fd, &stat) < 0 || stat.st_size > bytes_max)
		return false;

	for (;;) {
		ssize_t n = read(fd, block, sizeof(block));

		if (n < 0)
			return false;
		if (n == 0)
			return (uint32_t)crc == wanted;
		crc = crc32(crc, block, (uInt)n);
	}
}

/* <folder>/.build-id/ab/cdef….debug */
static int by_build_id(int root_fd, const char *folder, struct wanted *wanted)
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
	_cleanup_close_ int fd = open_in(root_fd, path);
	if (fd < 0 || !same_build_id(fd, &wanted->image))
		return -ENOENT;
	return keep(wanted, TAKE_FD(fd), root_fd, path);
}

static int by_name(int root_fd, struct wanted *wanted, const char *before, const char *folder,
		   const char *after)
{
	char path[PATH_MAX * 2];

	if (!wanted->image.debuglink[0])
		return -ENOENT;
	snprintf(path, sizeof(path), "%s%s%s/%s", before, folder, after, wanted->image.debuglink);
	_cleanup_close_ int fd = open_in(root_fd, path);
	if (fd < 0 || (!same_build_id(fd, &wanted->image) &&
		       !same_crc(fd, wanted->image.debuglink_crc, wanted->checked_max)))
		return -ENOENT;
	return keep(wanted, TAKE_FD(fd), root_fd, path);
}

static int in_root(int root_fd, struct wanted *wanted)
{
	int fd = by_build_id(root_fd, SYSTEM_DEBUG, wanted);

	if (fd < 0)
		fd = by_name(root_fd, wanted, "", wanted->folder, "");
	if (fd < 0)
		fd = by_name(root_fd, wanted, "", wanted->folder, "/.debug");
	if (fd < 0)
		fd = by_name(root_fd, wanted, SYSTEM_DEBUG, wanted->folder, "");
	return fd;
}

static int in_folder(const char *folder, struct wanted *wanted)
{
	char below[PATH_MAX];
	int fd = by_build_id(-1, folder, wanted);

	if (fd < 0 && snprintf(below, sizeof(below), "%s" SYSTEM_DEBUG, folder) < PATH_MAX)
		fd = by_build_id(-1, below, wanted);
	if (fd < 0)
		fd = by_name(-1, wanted, folder, wanted->folder, "");
	if (fd < 0)
		fd = by_name(-1, wanted, folder, "", "");
	return fd;
}

/* Of a process in a chroot the kernel tells paths as we see them, of one in a container as itself
 * does. */
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
	_cleanup_free_ struct wanted *wanted = calloc(1, sizeof(*wanted));
	int found = -ENOENT;

	if (!wanted)
		return -ENOMEM;
	wanted->found = remembered;
	wanted->checked_max = search->checked_max ? search->checked_max : CHECKED_MAX;
	remembered->searched = true;
	int r = elf_read(fd, &wanted->image);
	if (r < 0)
		return r;
	const char *path = path_in_root(search), *slash = strrchr(path, '/');
	if (!slash || slash - path >= PATH_MAX)
		return -ENOENT;
	memcpy(wanted->folder, path, (size_t)(slash - path));
	if (search->debugging_dir)
		found = in_folder(search->debugging_dir, wanted);
	if (found < 0)
		found = in_root(search->root_fd, wanted);
	if (found < 0 && search->root_fd >= 0)
		found = by_build_id(-1, SYSTEM_DEBUG, wanted);
	return found;
}

int debugfile_of_build_id(const struct elf_image *image, const char *debugging_dir)
{
	_cleanup_free_ struct wanted *wanted = calloc(1, sizeof(*wanted));
	struct debug_found found = {0};
	char below[PATH_MAX];
	int fd = -ENOENT;

	if (!wanted)
		return -ENOMEM;
	wanted->image = *image;
	wanted->found = &found;
	if (debugging_dir)
		fd = by_build_id(-1, debugging_dir, wanted);
	if (fd < 0 && debugging_dir &&
	    snprintf(below, sizeof(below), "%s" SYSTEM_DEBUG, debugging_dir) < PATH_MAX)
		fd = by_build_id(-1, below, wanted);
	if (fd < 0)
		fd = by_build_id(-1, SYSTEM_DEBUG, wanted);
	free(found.path);
	return fd;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int debugfile_open_again(const struct debug_search *search, const struct debug_found *found)
{
	struct stat stat;

	if (!found->path || (found->in_root && search->root_fd < 0))
		return -ENOENT;
	_cleanup_close_ int fd = open_in(found->in_root ? search->root_fd : -1, found->path);
	if (fd < 0)
		return fd;
	return fstat(fd, &stat) == 0 && same_file(&stat, &found->stat) ? TAKE_FD(fd) : -ESTALE;
}

/* What its link says: the file's build id takes the place of its own. `path`: where below a folder
 * of debug files it is, or "". */
static int take_shared(int fd, struct wanted *wanted, char path[PATH_MAX])
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

/* `path` as take_shared() says it. */
static int shared_in(int root_fd, const char *folder, const char *path, struct wanted *wanted)
{
	char whole[PATH_MAX * 2];
	int found = by_build_id(root_fd, folder, wanted);

	if (found >= 0 || !path[0])
		return found;
	snprintf(whole, sizeof(whole), "%s%s", folder, path);
	_cleanup_close_ int fd = open_in(root_fd, whole);
	return fd >= 0 && same_build_id(fd, &wanted->image) ? TAKE_FD(fd) : -ENOENT;
}

int debugfile_open_shared(int fd, const struct debug_search *search)
{
	_cleanup_free_ struct wanted *wanted = calloc(1, sizeof(*wanted));
	struct debug_found known = {0};
	char path[PATH_MAX] = "", below[PATH_MAX];
	int found = -ENOENT;

	if (!wanted)
		return -ENOMEM;
	wanted->found = &known;
	int r = elf_read(fd, &wanted->image);
	if (r == 0)
		r = take_shared(fd, wanted, path);
	if (r < 0)
		return r;
	if (search->debugging_dir)
		found = shared_in(-1, search->debugging_dir, path, wanted);
	if (found < 0 && search->debugging_dir &&
	    snprintf(below, sizeof(below), "%s" SYSTEM_DEBUG, search->debugging_dir) < PATH_MAX)
		found = shared_in(-1, below, path, wanted);
	if (found < 0)
		found = shared_in(search->root_fd, SYSTEM_DEBUG, path, wanted);
	if (found < 0 && search->root_fd >= 0)
		found = shared_in(-1, SYSTEM_DEBUG, path, wanted);
	free(known.path);
	return found;
}
