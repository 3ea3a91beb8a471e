// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "upload/spool/spool_file.h"
#include "upload/spool/spool_folder.h"

uint64_t spool_file_bytes(const struct body *body)
{
	const struct body_texts *texts = &body->texts;

	return sizeof(struct spool_header) + strlen(texts->what) + strlen(texts->target) +
	       strlen(texts->content_type) + 3 + body->bytes;
}

int spool_write(const char *folder, const struct spool_key *key, const struct body *body)
{
	_cleanup_close_ int dir_fd = spool_open_or_make(folder);
	char written[SPOOL_NAME_MAX], name[SPOOL_NAME_MAX];

	if (dir_fd < 0)
		return dir_fd;
	spool_name_make(key, SPOOL_WRITTEN, written);
	spool_name_make(key, SPOOL_WAITS, name);
	_cleanup_close_ int fd =
		openat(dir_fd, written, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = spool_file_write(fd, body);
	/* A file system that allocates late (NFS, quotas) reports a full disk at close(). */
	if (close(TAKE_FD(fd)) < 0 && r == 0)
		r = -errno;
	if (r == 0)
		r = spool_move(dir_fd, written, name);
	if (r < 0)
		(void)spool_drop(dir_fd, written);
	return r;
}

/* Opens a file of ours for reading; -ELOOP if it isn't ours or not regular. */
static int open_file(int dir_fd, const char *name)
{
	_cleanup_close_ int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode) || stat.st_uid != geteuid())
		return -ELOOP;
	return TAKE_FD(fd);
}

/* Renames the body's file from one suffix to another. */
static int mark_file(int dir_fd, const struct spool_key *key, const char *from, const char *to)
{
	char before[SPOOL_NAME_MAX], after[SPOOL_NAME_MAX];

	spool_name_make(key, from, before);
	spool_name_make(key, to, after);
	return spool_move(dir_fd, before, after);
}

/* Marks the body as being sent. *from and *to are its suffixes before and after; they are equal if
 * it had SPOOL_AGAIN already. */
static int mark_sent(int dir_fd, const struct spool_key *key, const char **from, const char **to)
{
	*from = SPOOL_WAITS;
	*to = SPOOL_SENT;
	int r = mark_file(dir_fd, key, *from, *to);
	if (r == -ENOENT) {
		*from = SPOOL_SENT;
		*to = SPOOL_AGAIN;
		r = mark_file(dir_fd, key, *from, *to);
	}
	if (r == -ENOENT) {
		*from = SPOOL_AGAIN;
		r = 0;
	}
	return r == -EEXIST ? -ELOOP : r;
}

static int read_marked(int dir_fd, const struct spool_key *key, const char *suffix,
		       struct body **ret)
{
	char name[SPOOL_NAME_MAX];

	spool_name_make(key, suffix, name);
	_cleanup_close_ int fd = open_file(dir_fd, name);
	if (fd < 0)
		return fd;
	int r = spool_file_read(fd, key->until_ns, ret);
	if (r == -EBADMSG)
		(void)spool_drop(dir_fd, name);
	return r;
}

int spool_load(const char *folder, const struct spool_key *key, struct body **ret)
{
	_cleanup_close_ int dir_fd = spool_open(folder);
	const char *from, *to;

	if (dir_fd < 0)
		return dir_fd;
	int r = mark_sent(dir_fd, key, &from, &to);
	if (r < 0) /* a body that can't be marked isn't sent */
		return r;
	r = read_marked(dir_fd, key, to, ret);
	if (r < 0 && from != to) /* the body isn't sent */
		(void)mark_file(dir_fd, key, to, from);
	return r;
}

int spool_mark_back(const char *folder, const struct spool_key *key, bool maybe)
{
	_cleanup_close_ int dir_fd = spool_open(folder);

	if (dir_fd < 0)
		return dir_fd;
	int r = maybe ? mark_file(dir_fd, key, SPOOL_AGAIN, SPOOL_SENT)
		      : mark_file(dir_fd, key, SPOOL_SENT, SPOOL_WAITS);
	return r == -ENOENT ? 0 : r;
}

int spool_remove(const char *folder, const struct spool_key *key)
{
	static const char *const suffixes[] = {SPOOL_WAITS, SPOOL_SENT, SPOOL_AGAIN};
	_cleanup_close_ int dir_fd = spool_open(folder);
	char name[SPOOL_NAME_MAX];
	int error = 0;

	if (dir_fd < 0)
		return dir_fd == -ENOENT ? 0 : dir_fd;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		spool_name_make(key, suffixes[i], name);
		int r = spool_drop(dir_fd, name);
		if (r < 0)
			error = r;
	}
	return error;
}
