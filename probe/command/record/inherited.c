// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/inherited.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	mode_t umask;
	struct rlimit files;
	int files_error;
} kept;

static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

void inherited_keep(void)
{
	fill_standard_descriptors();
	kept.umask = umask(0);
	umask(kept.umask);
	kept.files_error = getrlimit(RLIMIT_NOFILE, &kept.files);
}

mode_t inherited_umask(void)
{
	return kept.umask;
}

void inherited_restore(void)
{
	umask(kept.umask);
	if (kept.files_error == 0)
		setrlimit(RLIMIT_NOFILE, &kept.files);
}
