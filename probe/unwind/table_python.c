// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks for a CPython in a file, in the job that builds the file's table and has the file open. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/debugfile.h"
#include "unwind/tables_state.h"

#define PYTHON_CODE_MIN (512u * 1024) /* bytes; no interpreter has less, most libraries do */
/* Bytes; much more than any interpreter has. The bound saves time, as other tables wait behind this
 * job. */
#define STRINGS_MAX (32u * 1024 * 1024)

bool python_is_brief(int debug_fd)
{
	struct elf_image debug;

	return elf_read(debug_fd, &debug) == 0 && debug.symtab.strings.bytes <= STRINGS_MAX;
}

/* Opens the debug file, which names the symbols that aren't exported. */
static int open_debug(int file_fd, const struct elf_image *image, const char *debugging_dir)
{
	if (image->symtab.symbols.bytes)
		return -ENOENT;
	_cleanup_close_ int fd = debugfile_of_build_id(file_fd, image, debugging_dir);
	return fd >= 0 && python_is_brief(fd) ? TAKE_FD(fd) : -ENOENT;
}

static int read_image(int fd, struct elf_image *image)
{
	int r = elf_read(fd, image);

	if (r < 0)
		return r;
	if (!image->wide || elf_code_bytes(image) < PYTHON_CODE_MIN)
		return -ENOENT;
	if (image->dynsym.strings.bytes > STRINGS_MAX)
		image->dynsym = (struct elf_symbols){0};
	if (image->symtab.strings.bytes > STRINGS_MAX)
		image->symtab = (struct elf_symbols){0};
	return 0;
}

static void find_python(int fd, const struct elf_image *image, int debug_fd,
			struct cpython_file **ret)
{
	_cleanup_free_ struct cpython_file *file = calloc(1, sizeof(*file));

	if (file && cpython_find(fd, image, debug_fd, file) == 0)
		*ret = TAKE_PTR(file);
}

void python_read(int fd, int debug_fd, struct cpython_file **ret)
{
	struct elf_image image;

	if (read_image(fd, &image) == 0)
		find_python(fd, &image, debug_fd, ret);
}

void python_look(int fd, const char *debugging_dir, struct cpython_file **ret, bool *elsewhere)
{
	struct elf_image image;

	*ret = NULL;
	*elsewhere = false;
	if (read_image(fd, &image) < 0)
		return;
	_cleanup_close_ int debug_fd = open_debug(fd, &image, debugging_dir);
	find_python(fd, &image, debug_fd, ret);
	*elsewhere = !*ret && debug_fd < 0 && !image.symtab.symbols.bytes &&
		     (image.build_id_bytes || image.debuglink[0]);
}

/* Returns whether the table's CPython counts for `file`: what a debug file in a root says counts
 * only for processes with that root. */
static bool may_have(const struct table *table, const struct symbol_file *file)
{
	const struct symbol_root *said = table->python_root, *root = symbol_file_root(file);

	return !said || (root && root->device == said->device && root->inode == said->inode);
}

const struct cpython_file *table_python(const struct table *table, const struct symbol_file *file,
					uint64_t file_offset, const struct span *span,
					uint64_t *bias)
{
	uint64_t address;

	if (!table->python || !may_have(table, file) ||
	    !table_address(table, file_offset, span->end - span->start, &address))
		return NULL;
	*bias = span->start - address;
	return table->python;
}
