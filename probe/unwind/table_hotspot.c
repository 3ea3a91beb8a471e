// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks for a Java VM in a file, in the job that builds the file's table and has the file open. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "unwind/tables_state.h"

#define HOTSPOT_CODE_MIN (2u * 1024 * 1024) /* the smallest VM has 4 MiB */
/* A VM's strings are 100 KiB. The bound saves time, as other tables wait behind this job. */
#define STRINGS_MAX (8u * 1024 * 1024)

void hotspot_look(int fd, struct hotspot_file **ret)
{
	_cleanup_free_ struct hotspot_file *file = NULL;
	struct elf_image image;

	*ret = NULL;
	if (elf_read(fd, &image) < 0 || elf_code_bytes(&image) < HOTSPOT_CODE_MIN ||
	    image.dynsym.strings.bytes > STRINGS_MAX)
		return;
	file = calloc(1, sizeof(*file));
	if (file && hotspot_find(fd, &image, file) == 0)
		*ret = TAKE_PTR(file);
}

const struct hotspot_file *table_hotspot(const struct table *table, uint64_t file_offset,
					 const struct span *span, uint64_t *bias)
{
	uint64_t address;

	if (!table->hotspot ||
	    !table_address(table, file_offset, span->end - span->start, &address))
		return NULL;
	*bias = span->start - address;
	return table->hotspot;
}
