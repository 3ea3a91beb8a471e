/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Java VMs that are installed: JAVAS (paths of `java`, with colons between), or Debian's. */
#pragma once

#include "unit/python/python_process.h"

#include "proc/elf.h"
#include "proc/maps.h"
#include "proc/process_memory.h"
#include "java/vm/hotspot.h"

static inline bool jvm_find_file(pid_t pid, struct hotspot_file *file, uint64_t *bias)
{
	struct elf_image image;
	char line[PATH_MAX + 128], path[PATH_MAX], name[64];
	bool found = false;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	FILE *maps = fopen(name, "re");
	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%*x %*s %*x %*s %*u %s", bias, path) != 2 ||
		    !strstr(path, "/libjvm.so"))
			continue;
		snprintf(name, sizeof(name), "/proc/%d/root", pid);
		_cleanup_close_ int root = open(name, O_PATH | O_CLOEXEC);
		_cleanup_close_ int fd = openat(root, path + 1, O_RDONLY | O_CLOEXEC);
		assert_int_equal(elf_read(fd, &image), 0);
		assert_int_equal(hotspot_find(fd, &image, file), 0);
		found = true;
	}
	fclose(maps);
	return found;
}

/* Calls test() with the paths of all; returns how many there are. */
static inline int each_jvm(void (*test)(const char *java))
{
	const char *named = getenv("JAVAS");
	_cleanup_free_ char *list = strdup(named ? named : "");
	char *rest = NULL;
	glob_t found = {0};
	int count = 0;

	for (char *path = strtok_r(list, ":", &rest); path; path = strtok_r(NULL, ":", &rest)) {
		test(path);
		count++;
	}
	if (!named)
		glob("/usr/lib/jvm/*-*-*/bin/java", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char target[PATH_MAX];

		/* Not by another name of the same. */
		if (!realpath(found.gl_pathv[i], target) || strcmp(target, found.gl_pathv[i]) != 0)
			continue;
		test(found.gl_pathv[i]);
		count++;
	}
	globfree(&found);
	return count;
}
