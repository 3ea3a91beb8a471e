// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/files/jfrfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "proc/foreign.h"

#define NAME_BYTES 32

static int open_file(int folder_fd, uid_t owner, const char *probe)
{
	char name[NAME_BYTES];
	const struct foreign file = {
		.root_fd = folder_fd,
		.path = name,
		.links = FOREIGN_NO_LINKS,
		.rules = {.owners = &owner, .owners_count = 1, .bytes_max = JFRFILE_BYTES_MAX},
	};

	if ((size_t)snprintf(name, sizeof(name), "stacks-%s.txt", probe) >= sizeof(name))
		return -EINVAL;
	int fd = foreign_open(&file, NULL);
	switch (fd) {
	case -ELOOP:
	case -EINVAL:
	case -ENODEV:
	case -EPERM:
		return -EACCES;
	default:
		return fd;
	}
}

int jfrfile_read(struct jfrfile **ret, int folder_fd, uid_t owner, const char *probe)
{
	_cleanup_buf_ struct buf text = BUF_INIT(JFRFILE_BYTES_MAX);
	_cleanup_close_ int fd = open_file(folder_fd, owner, probe);

	if (fd < 0)
		return fd;
	int r = file_read_fd(fd, &text);
	if (r < 0)
		return r == -ENOSPC ? -EFBIG : r; /* the file grew meanwhile */
	return jfrfile_parse(ret, text.data, text.len, probe);
}

uint64_t jfrfile_events(const struct jfrfile *file)
{
	uint64_t events = 0;

	for (size_t i = 0; i < file->stacks_count; i++)
		events += file->stacks[i].events;
	return events;
}

void jfrfile_free(struct jfrfile *file)
{
	if (!file)
		return;
	free(file->text);
	free(file->methods);
	free(file->stacks);
	free(file->frames);
	free(file);
}
