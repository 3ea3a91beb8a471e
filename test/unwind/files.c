/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/cleanup.h"

/* Where our own vDSO ends; 0: it has none. */
static uintptr_t vdso_end(uintptr_t start)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from, to, end = 0;
	char line[512];

	if (!maps)
		return 0;
	while (!end && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from == start)
			end = to;
	fclose(maps);
	return end;
}

static int vdso_open(void)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR), end = start ? vdso_end(start) : 0;
	_cleanup_close_ int fd = -1;

	if (!end)
		return -1;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the kernel tells it */
	if (fd < 0 || write(fd, (const void *)start, end - start) != (ssize_t)(end - start))
		return -1;
	return TAKE_FD(fd);
}

static void file_read(struct mapped_file *file)
{
	if (strcmp(file->path, "[vdso]") == 0)
		file->fd = vdso_open();
	else if (file->path[0] == '/' && file->path[1] != '/') /* //anon */
		file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	file->kind = SPAN_BARE;
	if (file->fd < 0)
		return;
	if (elf_read(file->fd, &file->elf) < 0) {
		file->elf.segments_count = 0;
		return;
	}
	switch (image_build(file->fd, &file->image)) {
	case 0:
		file->kind = SPAN_TABLE;
		break;
	case -ENOENT:
		break;
	default:
		file->kind = SPAN_NO_TABLE;
	}
}

struct mapped_file *files_get(struct files *files, const char *path)
{
	struct mapped_file *file = files->first;

	while (file && strcmp(file->path, path) != 0)
		file = file->next;
	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->fd = -1;
	file->path = strdup(path);
	if (!file->path) {
		free(file);
		return NULL;
	}
	file_read(file);
	file->next = files->first;
	files->first = file;
	return file;
}

void files_done(struct files *files)
{
	while (files->first) {
		struct mapped_file *file = files->first;

		files->first = file->next;
		image_done(&file->image);
		cleanup_close(&file->fd);
		free(file->path);
		free(file);
	}
}

const char *mapped_file_name(const struct mapped_file *file)
{
	const char *slash = strrchr(file->path, '/');

	return slash ? slash + 1 : file->path;
}
