// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/open_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"

static bool is_no_descriptor(int error)
{
	return error == -EMFILE || error == -ENFILE;
}

static struct debug_search search_of(const struct open_request *opening, int root_fd,
				     const char *debugging_dir)
{
	return (struct debug_search){
		.root_fd = opening->root ? root_fd : -1,
		.path = opening->path,
		.debugging_dir = debugging_dir,
		.process = open_request_process(opening),
	};
}

/* Returns whether the process has gone, and its root with it; our root would be a wrong one. */
static bool has_lost_root(const struct open_request *opening, int root_fd)
{
	return opening->root && root_fd < 0;
}

/* Opens a debug file by build id, without the process's root. */
static int open_by_build_id(int fd, const char *debugging_dir)
{
	_cleanup_free_ struct elf_image *image = malloc(sizeof(*image));

	if (!image)
		return -ENOMEM;
	int r = elf_read(fd, image);
	return r < 0 ? r : debugfile_of_build_id(fd, image, debugging_dir);
}

static int open_debug(const struct open_request *opening, int fd, int root_fd,
		      const char *debugging_dir, struct debug_found *debug)
{
	struct debug_search search = search_of(opening, root_fd, debugging_dir);

	if (debug->searched) {
		if (!debug->path)
			return -ENOENT;
		int found = debugfile_open_again(&search, debug);
		if (found >= 0 || is_no_descriptor(found))
			return found;
	}
	if (has_lost_root(opening, root_fd))
		return open_by_build_id(fd, debugging_dir);
	return debugfile_open(fd, &search, debug);
}

int open_file_open(struct open_file *opened, struct open_request *opening,
		   const char *debugging_dir, struct debug_found *found)
{
	_cleanup_close_ int root_fd = open_request_open_root(opening);

	*opened = (struct open_file){.debug_fd = -1, .own_fd = -1};
	opened->fd = open_request_open(opening, root_fd, &opened->own_fd);
	if (opened->fd < 0)
		return opened->fd;
	int debug_fd = open_debug(opening, opened->fd, root_fd, debugging_dir, found);
	if (debug_fd >= 0)
		opened->debug_fd = debug_fd;
	return is_no_descriptor(debug_fd) ? debug_fd : 0;
}

int open_file_open_known(struct open_file *opened, struct open_request *opening,
			 const char *debugging_dir, const struct debug_found *found)
{
	_cleanup_close_ int root_fd = open_request_open_root(opening);
	struct debug_search search = search_of(opening, root_fd, debugging_dir);

	*opened = (struct open_file){.debug_fd = -1, .own_fd = -1};
	opened->fd = open_request_open(opening, root_fd, &opened->own_fd);
	if (opened->fd < 0)
		return opened->fd;
	int debug_fd = found->path ? debugfile_open_again(&search, found) : -1;
	if (debug_fd >= 0)
		opened->debug_fd = debug_fd;
	return 0;
}

int open_file_open_shared(const struct open_file *opened, const struct open_request *opening,
			  const char *debugging_dir)
{
	_cleanup_close_ int root_fd = open_request_open_root(opening);
	struct debug_search search = search_of(opening, root_fd, debugging_dir);

	if (has_lost_root(opening, root_fd))
		return -ENOENT;
	return debugfile_open_shared(opened->debug_fd >= 0 ? opened->debug_fd : opened->fd,
				     &search);
}

void open_file_done(struct open_file *opened)
{
	cleanup_close(&opened->own_fd);
	cleanup_close(&opened->debug_fd);
}
