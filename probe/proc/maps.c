// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"

#define PAGE_BYTES 4096
#define LAST_PATHS 16 /* a mapping's path is looked for among the last 16 paths */

struct maps_reading {
	struct maps maps;
	size_t capacity, paths_capacity, paths_bytes;
	char *left_out; /* MAPS_LEFT_OUT in maps.paths; NULL: no path was left out */
};

void maps_done(struct maps *maps)
{
	for (size_t i = 0; i < maps->paths_count; i++)
		free(maps->paths[i]);
	free(maps->paths);
	free(maps->mappings);
	*maps = (struct maps){0};
}

/* The kernel writes a line end in a path as \012 and leaves all else alone (seq_file_path). */
static void unescape_path(char *path)
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
	unescape_path(mapping->path);
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

/* Takes over `path`, also on failure. */
static int own_path(struct maps_reading *reading, char *path)
{
	_cleanup_free_ char *mine = path;
	struct maps *maps = &reading->maps;

	if (array_grow(maps->paths, reading->paths_capacity, maps->paths_count + 1, 16) < 0)
		return -ENOMEM;
	maps->paths[maps->paths_count++] = TAKE_PTR(mine);
	return 0;
}

static char *known_path(const struct maps_reading *reading, const char *path)
{
	const struct maps *maps = &reading->maps;

	for (size_t i = maps->paths_count; i && maps->paths_count - i < LAST_PATHS; i--) {
		if (strcmp(maps->paths[i - 1], path) == 0)
			return maps->paths[i - 1];
	}
	return NULL;
}

/* Replaces the mapping's path by a shared copy. Many mappings usually have few paths; a process
 * with many paths must not fill our memory. */
static int share_path(struct maps_reading *reading, struct mapping *mapping)
{
	size_t bytes = strlen(mapping->path) + 1;
	char *known = known_path(reading, mapping->path);

	if (!known && reading->paths_bytes + bytes > MAPS_PATHS_MAX) {
		if (!reading->left_out) {
			reading->left_out = strdup(MAPS_LEFT_OUT);
			int r = reading->left_out ? own_path(reading, reading->left_out) : -ENOMEM;
			if (r < 0) {
				free(mapping->path);
				return r;
			}
		}
		known = reading->left_out;
		reading->maps.left_out++;
	}
	if (known) {
		free(mapping->path);
		mapping->path = known;
		return 0;
	}
	reading->paths_bytes += bytes;
	return own_path(reading, mapping->path);
}

static int add_mapping(struct maps *maps, size_t *capacity, const struct mapping *mapping)
{
	if (!mapping->writable && mapping->kind != MAPPING_VSYSCALL)
		maps->exec_pages += (uint32_t)((mapping->end - mapping->start) / PAGE_BYTES);
	if (mapping->kind == MAPPING_UPROBES)
		return 0;
	if (maps->count == MAPPINGS_MAX)
		return -EFBIG;
	if (array_grow(maps->mappings, *capacity, maps->count + 1, 16) < 0)
		return -ENOMEM;
	maps->mappings[maps->count++] = *mapping;
	return 0;
}

static void free_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static void reading_done(struct maps_reading *reading)
{
	maps_done(&reading->maps);
}

static int read_line(struct maps_reading *reading, const char *line)
{
	struct mapping mapping;
	int r = maps_parse_line(line, &mapping);

	if (r == 1 && mapping.path) /* share_path() takes over the path */
		r = share_path(reading, &mapping) < 0 ? -ENOMEM : 1;
	return r == 1 ? add_mapping(&reading->maps, &reading->capacity, &mapping) : r;
}

int maps_read(pid_t pid, uint64_t until_ns, struct maps *maps)
{
	_cleanup_(reading_done) struct maps_reading reading = {0};
	_cleanup_free_ char *line = NULL;
	size_t line_bytes = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	_cleanup_(free_file) FILE *file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	for (ssize_t len; (len = getline(&line, &line_bytes, file)) > 0;) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		int r = read_line(&reading, line);
		if (r < 0)
			return r;
		reading.maps.is_cut = until_ns && clock_ns(CLOCK_MONOTONIC) >= until_ns;
		if (reading.maps.is_cut)
			break;
	}
	if (ferror(file))
		return -ESRCH; /* the process ended meanwhile */
	*maps = reading.maps;
	reading.maps = (struct maps){0};
	return 0;
}
