// SPDX-License-Identifier: GPL-2.0-only
/* Whether a file has a CPython: looked for by the job that builds its table, which has it open. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbol/debugfile.h"
#include "unwind/tables_state.h"

#define PYTHON_CODE_MIN (512u * 1024) /* no interpreter has less; most libraries do */
/* Much more than any interpreter has: it is for haste, others wait for their tables behind it. */
#define STRINGS_MAX (32u * 1024 * 1024)

/* What isn't exported is named there. */
static int open_debug(const struct elf_image *image, const char *debugging_dir)
{
	struct elf_image debug;

	if (image->symtab.symbols.bytes)
		return -ENOENT;
	_cleanup_close_ int fd = debugfile_of_build_id(image, debugging_dir);
	if (fd < 0 || elf_read(fd, &debug) < 0 || debug.symtab.strings.bytes > STRINGS_MAX)
		return -ENOENT;
	return TAKE_FD(fd);
}

void python_look(int fd, const char *debugging_dir, struct cpython_file **ret)
{
	_cleanup_free_ struct cpython_file *file = NULL;
	struct elf_image image;

	*ret = NULL;
	if (elf_read(fd, &image) < 0 || !image.wide || elf_code_bytes(&image) < PYTHON_CODE_MIN)
		return;
	_cleanup_close_ int debug_fd = open_debug(&image, debugging_dir);
	if (image.dynsym.strings.bytes > STRINGS_MAX)
		image.dynsym = (struct elf_symbols){0};
	if (image.symtab.strings.bytes > STRINGS_MAX)
		image.symtab = (struct elf_symbols){0};
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
