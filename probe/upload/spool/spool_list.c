// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "upload/spool/spool_folder.h"

void spool_list_done(struct spool_list *list)
{
	free(list->found);
	*list = (struct spool_list){0};
}

static int add_found(struct spool_list *list, const struct spool_found *found)
{
	if (list->count == SPOOL_BODIES_MAX)
		return 0;			      /* the rest is found at the next start */
	if ((list->count & (list->count - 1)) == 0) { /* the room is a power of two: full */
		size_t room = list->count ? 2 * list->count : 1;
		void *more = reallocarray(list->found, room, sizeof(*list->found));

		if (!more)
			return -ENOMEM;
		list->found = more;
	}
	list->found[list->count++] = *found;
	return 0;
}

/* Parses the name of a body that waits or was being sent; false: another name. */
static bool read_body_name(const char *name, struct spool_found *found)
{
	static const char *const suffixes[] = {SPOOL_WAITS, SPOOL_SENT, SPOOL_AGAIN};

	for (unsigned i = 0; i < ARRAY_SIZE(suffixes); i++) {
		found->doubts = i;
		if (spool_name_read(name, suffixes[i], &found->key))
			return true;
	}
	return false;
}

static int look_at(int dir_fd, const char *name, struct spool_list *list)
{
	struct spool_found found = {0};
	struct stat stat;
	bool written = spool_name_read(name, SPOOL_WRITTEN, &found.key);

	if ((!written && !read_body_name(name, &found)) ||
	    fstatat(dir_fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(stat.st_mode) ||
	    stat.st_uid != geteuid())
		return 0;
	if (written) {
		(void)spool_drop(dir_fd, name); /* if it stays, it does no harm */
		return 0;
	}
	found.bytes = (uint64_t)stat.st_size;
	return add_found(list, &found);
}

static int compare_found(const void *a, const void *b)
{
	const struct spool_found *x = a, *y = b;

	return spool_compare(&x->key, &y->key);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int spool_list(const char *folder, struct spool_list *list)
{
	_cleanup_(spool_list_done) struct spool_list found = {0};
	_cleanup_close_ int fd = spool_open(folder);
	int r = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	_cleanup_(close_dir) DIR *dir = fdopendir(fd);
	if (!dir)
		return -errno;
	int dir_fd = TAKE_FD(fd); /* `dir` owns it */
	for (struct dirent *entry; r == 0;) {
		errno = 0;
		entry = readdir(dir);
		if (!entry) {
			r = -errno;
			break;
		}
		r = look_at(dir_fd, entry->d_name, &found);
	}
	if (r < 0)
		return r;
	if (found.count)
		qsort(found.found, found.count, sizeof(*found.found), compare_found);
	*list = found;
	found = (struct spool_list){0};
	return 0;
}
