// SPDX-License-Identifier: GPL-2.0-only
/* Whether a file has a CPython: looked for by the job that builds its table, which has it open. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbol/debugfile.h"
#include "unwind/tables_state.h"

#define PYTHON_CODE_MIN (512u * 1024) /* no interpreter has less; most libraries do */

static bool is_large_enough(const struct elf_image *image)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < image->segments_count; i++)
		bytes = image->segments[i].file_bytes > bytes ? image->segments[i].file_bytes
							      : bytes;
	return bytes >= PYTHON_CODE_MIN;
}

static int open_debug(int fd, const struct opening *opening, int root_fd, const char *debugging_dir)
{
	struct debug_found found = {0};
	struct debug_search search = {
		.root_fd = opening->root ? root_fd : -1,
		.path = opening->path,
		.debugging_dir = debugging_dir,
	};
	int debug_fd = debugfile_open(fd, &search, &found);

	free(found.path);
	return debug_fd;
}

static bool is_stripped(const struct elf_image *image)
{
	return !image->symtab.symbols.bytes;
}

void python_look(int fd, const struct opening *opening, int root_fd, const char *debugging_dir,
		 struct cpython_file **ret)
{
	_cleanup_free_ struct cpython_file *file = NULL;
	struct elf_image image;

	*ret = NULL;
	if (elf_read(fd, &image) < 0 || !image.wide || !is_large_enough(&image))
		return;
	_cleanup_close_ int debug_fd = -1;
	if (is_stripped(&image)) /* what isn't exported is named there */
		debug_fd = open_debug(fd, opening, root_fd, debugging_dir);
	file = calloc(1, sizeof(*file));
	if (file && cpython_find(fd, &image, debug_fd, file) == 0)
		*ret = TAKE_PTR(file);
}

const struct cpython_file *table_python(const struct table *table, uint64_t file_offset,
					const struct span *span, uint64_t *bias)
{
	uint64_t address;

	if (!table->python || !table_address(table, file_offset, span->end - span->start, &address))
		return NULL;
	*bias = span->start - address;
	return table->python;
}
