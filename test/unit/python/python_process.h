/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Pythons that are installed: PYTHONS (paths, with colons between), or those in PATH and
 * pyenv's. */
#pragma once

#include "unit/lib/unit.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sys/wait.h>

#include "proc/process_memory.h"
#include "proc/proc.h"

/* A Python that runs a script. */
struct python_process {
	pid_t pid;
	int input; /* it ends when this is closed */
	FILE *output;
	int memory_fd; /* python_memory() */
};

static inline void python_start(struct python_process *process, const char *python,
				const char *const *arguments)
{
	int input[2], output[2];

	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	process->pid = fork();
	assert_true(process->pid >= 0);
	if (!process->pid) {
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		execv(python, (char *const *)(uintptr_t)arguments);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	process->input = input[1];
	process->output = fdopen(output[0], "r");
	assert_non_null(process->output);
}

/* Its memory; the descriptor goes when this program ends. */
static inline int python_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	return process_memory_read(*(const int *)arg, address, to, bytes);
}

static inline struct process_memory python_memory(struct python_process *process)
{
	struct process_memory_id id = {process->pid, 0, proc_program(process->pid)};

	process->memory_fd = process_memory_open(&id);
	assert_true(process->memory_fd >= 0);
	return (struct process_memory){.read = python_read, .arg = &process->memory_fd};
}

/* Returns its exit status. */
static inline int python_end(struct python_process *process)
{
	int status;

	close(process->input);
	fclose(process->output);
	assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Is it Python 3.`minor`? */
static inline bool python_is(const char *path, int minor)
{
	const char *const arguments[] = {path, "-c", "import sys; print(*sys.version_info[:2])",
					 NULL};
	struct python_process process;
	int major = 0, found = 0;

	if (access(path, X_OK) < 0)
		return false;
	python_start(&process, path, arguments);
	if (fscanf(process.output, "%d %d", &major, &found) != 2)
		major = 0;
	python_end(&process);
	return major == 3 && found == minor;
}

/* Calls test() with each of them that is a Python 3.`minor`; returns how many these were. */
static inline int each_python(int minor, void (*test)(const char *path))
{
	const char *named = getenv("PYTHONS"), *home = getenv("HOME");
	_cleanup_free_ char *list = NULL;
	glob_t found = {0};
	char pattern[PATH_MAX], *rest = NULL;
	int count = 0;

	if (!named) {
		snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.%d.*/bin/python3",
			 home ? home : "", minor);
		glob(pattern, 0, NULL, &found);
		named = getenv("PATH");
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (python_is(found.gl_pathv[i], minor)) {
			test(found.gl_pathv[i]);
			count++;
		}
	}
	globfree(&found);
	list = strdup(named ? named : "");
	assert_non_null(list);
	for (char *path = strtok_r(list, ":", &rest); path; path = strtok_r(NULL, ":", &rest)) {
		if (getenv("PYTHONS"))
			snprintf(pattern, sizeof(pattern), "%s", path);
		else
			snprintf(pattern, sizeof(pattern), "%s/python3.%d", path, minor);
		if (python_is(pattern, minor)) {
			test(pattern);
			count++;
		}
	}
	return count;
}
