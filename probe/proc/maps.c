// SPDX-License-Identifier: GPL-2.0-only
#include "proc/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096

void maps_done(struct maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		free(maps->mappings[i].path);
	free(maps->mappings);
	*maps = (struct maps){0};
}

/* The kernel writes a line end in a path as \012 and leaves all else alone (seq_file_path). */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static int set_path(struct mapping *mapping, const char *name)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(name);

	mapping->path = strdup(name);
	if (!mapping->path)
		return -ENOMEM;
	if (len > sizeof(deleted) && strcmp(name + len - sizeof(deleted) + 1, deleted) == 0)
		mapping->path[len - sizeof(deleted) + 1] = '\0';
	unescape(mapping->path);
	return 0;
}

/* proc(5): `start-end perms offset dev inode   path` */
int maps_parse_line(const char *line, struct mapping *mapping)
{
	unsigned long long start, end, offset, inode;
	char perms[5] = "";
	unsigned major, minor;
	int name_at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &offset, &major,
		   &minor, &inode, &name_at) != 7 ||
	    start >= end)
		return -EINVAL;
	if (perms[2] != 'x')
		return 0;
	const char *name = line + name_at;
	*mapping = (struct mapping){.start = start,
				    .end = end,
				    .file_offset = offset,
				    .writable = perms[1] == 'w',
				    .device = makedev(major, minor),
				    .inode = inode};
	if (strcmp(name, "[vdso]") == 0) {
		mapping->kind = MAPPING_VDSO;
	} else if (strcmp(name, "[vsyscall]") == 0) {
		mapping->kind = MAPPING_VSYSCALL;
	} else if (strcmp(name, "[uprobes]") == 0) {
		mapping->kind = MAPPING_UPROBES;
	} else if (inode == 0 || name[0] != '/' || strncmp(name, "/dev/zero", 9) == 0 ||
		   strncmp(name, "/SYSV", 5) == 0) {
		mapping->kind = MAPPING_JIT;
	} else {
		mapping->kind = MAPPING_FILE;
		int r = set_path(mapping, name);
		if (r < 0)
			return r;
	}
	return 1;
}

static int add(struct maps *maps, size_t *capacity, const struct mapping *mapping)
{
	if (!mapping->writable && mapping->kind != MAPPING_VSYSCALL)
		maps->exec_pages += (uint32_t)((mapping->end - mapping->start) / PAGE_BYTES);
	if (mapping->kind == MAPPING_UPROBES)
		return 0;
	if (maps->count == MAPPINGS_MAX)
		return -EFBIG;
	if (maps->count == *capacity) {
		size_t more = *capacity ? *capacity * 2 : 16;
		struct mapping *grown = reallocarray(maps->mappings, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		maps->mappings = grown;
		*capacity = more;
	}
	maps->mappings[maps->count++] = *mapping;
	return 0;
}

static void free_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

int maps_read(pid_t pid, struct maps *maps)
{
	_cleanup_(maps_done) struct maps read = {0};
	_cleanup_free_ char *line = NULL;
	size_t line_bytes = 0, capacity = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	_cleanup_(free_file) FILE *file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	for (ssize_t len; (len = getline(&line, &line_bytes, file)) > 0;) {
		struct mapping mapping;

		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		int r = maps_parse_line(line, &mapping);
		if (r == 1) {
			r = add(&read, &capacity, &mapping);
			if (r < 0)
				free(mapping.path);
		}
		if (r < 0)
			return r;
	}
	if (ferror(file))
		return -ESRCH; /* it ended in the middle */
	*maps = read;
	read = (struct maps){0};
	return 0;
}
