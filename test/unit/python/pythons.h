/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Pythons of this machine, running: those that PYTHONS names (paths of programs, with colons
 * between), else python3.8 … python3.15 in PATH and those of pyenv. One that lies in another root
 * (a debootstrap's: …/usr/bin/python3.14) runs by chroot().
 */
#pragma once

#include "unit/lib/unit.h"

#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "proc/maps.h"
#include "python/cpython.h"

struct python {
	pid_t pid;
	int to, from; /* its stdin and stdout */
	struct cpython_file file;
	uint64_t bias;
	char path[PATH_MAX]; /* of the file that has the interpreter, while it runs */
};

static inline void python_exec(const char *program, const char *script)
{
	const char *inside = strstr(program, "/usr/bin/");
	char loader[PATH_MAX];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (inside && inside > program) {
		snprintf(loader, sizeof(loader), "%.*s/lib64/ld-linux-x86-64.so.2",
			 (int)(inside - program), program);
		if (access(loader, X_OK) == 0) {
			snprintf(loader, sizeof(loader), "%.*s", (int)(inside - program), program);
			if (chroot(loader) == 0 && chdir("/") == 0)
				program = inside;
		}
	}
	execl(program, program, "-B", "-c", script, (char *)NULL);
	_exit(127);
}

/* One line; false: it has ended. */
static inline bool python_line(const struct python *python, char *line, size_t room)
{
	size_t len = 0;

	while (len + 1 < room && read(python->from, line + len, 1) == 1 && line[len] != '\n')
		len++;
	line[len] = '\0';
	return len > 0;
}

static inline void python_find(struct python *python)
{
	struct maps maps;

	assert_int_equal(maps_read(python->pid, 0, &maps), 0);
	for (size_t i = 0; i < maps.count && !python->path[0]; i++) {
		const struct mapping *mapping = &maps.mappings[i];
		struct elf_image image;
		char path[PATH_MAX];
		uint64_t address;

		if (mapping->kind != MAPPING_FILE || mapping->writable)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
			 (int)python->pid, mapping->start, mapping->end);
		if (access(path, R_OK) < 0) /* it takes privileges */
			snprintf(path, sizeof(path), "%.3000s", mapping->path);
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || elf_read(fd, &image) < 0 ||
		    cpython_find(fd, &image, -1, &python->file) < 0)
			continue;
		assert_true(elf_address_of(image.segments, image.segments_count,
					   mapping->file_offset, &address));
		python->bias = mapping->start - address;
		strcpy(python->path, path);
	}
	maps_done(&maps);
}

/* Runs the script until it writes a line; false: this program doesn't run here. */
static inline bool python_start(struct python *python, const char *program, const char *script,
				char *line, size_t room)
{
	int to[2], from[2];

	*python = (struct python){0};
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	python->pid = fork();
	if (!python->pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		python_exec(program, script);
	}
	close(to[0]);
	close(from[1]);
	python->to = to[1];
	python->from = from[0];
	if (python_line(python, line, room)) {
		python_find(python);
		if (python->path[0])
			return true;
	}
	close(to[1]);
	close(from[0]);
	kill(python->pid, SIGKILL);
	waitpid(python->pid, NULL, 0);
	return false;
}

static inline void python_end(const struct python *python)
{
	close(python->to);
	close(python->from);
	kill(python->pid, SIGKILL);
	waitpid(python->pid, NULL, 0);
}

static inline void pythons_in_path(void (*each)(const char *program, void *arg), void *arg)
{
	char *folders = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin"), *rest = folders;
	const char *folder;
	char path[PATH_MAX];

	while ((folder = strsep(&rest, ":"))) {
		for (int minor = 8; minor <= 15; minor++) {
			snprintf(path, sizeof(path), "%s/python3.%d", folder, minor);
			/* pyenv's shims are scripts. */
			if (access(path, X_OK) == 0 && !strstr(folder, "shims"))
				each(path, arg);
		}
	}
	free(folders);
}

static inline void pythons_each(void (*each)(const char *program, void *arg), void *arg)
{
	char *list = getenv("PYTHONS") ? strdup(getenv("PYTHONS")) : NULL, *rest = list;
	char pattern[PATH_MAX];
	const char *program;
	glob_t found;

	while (list && (program = strsep(&rest, ":"))) {
		if (*program)
			each(program, arg);
	}
	free(list);
	if (list)
		return;
	pythons_in_path(each, arg);
	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/*/bin/python3",
		 getenv("HOME") ? getenv("HOME") : "");
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			each(found.gl_pathv[i], arg);
		globfree(&found);
	}
}
