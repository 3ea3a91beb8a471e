// SPDX-License-Identifier: GPL-2.0-only
#include "profile/python_line.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LINE_BYTES 16384

enum meaning {
	OPTION,	 /* a further option may follow, in the same argument or the next one */
	SKIPS,	 /* … and the next argument is its own */
	WORKING, /* -c, -m: the working folder; what follows is the program's */
	NOWHERE, /* -I, -P, -h, -V, or no option of Python's */
};

struct arguments {
	const char *at, *end;
};

static const char *next(struct arguments *arguments)
{
	const char *found = arguments->at;

	if (found >= arguments->end)
		return NULL;
	const char *nul = memchr(found, '\0', (size_t)(arguments->end - found));
	arguments->at = nul ? nul + 1 : arguments->end;
	return nul ? found : NULL; /* one that was cut off is none */
}

/* Letters that share one dash. */
static enum meaning read_letters(const char *letters)
{
	for (const char *letter = letters; *letter; letter++) {
		switch (*letter) {
		case 'c':
		case 'm':
			return WORKING;
		case 'W':
		case 'X':
			return letter[1] ? OPTION : SKIPS;
		default:
			if (!strchr("bBdEiOqRsStuvx", *letter))
				return NOWHERE;
		}
	}
	return OPTION;
}

static enum meaning read_option(const char *argument)
{
	if (argument[1] != '-')
		return read_letters(argument + 1);
	return strcmp(argument, "--check-hash-based-pycs") == 0 ? SKIPS : NOWHERE;
}

/* *script: NULL: there is none, the working folder counts. False: it can't be told. */
static bool find_script(struct arguments *arguments, const char **script)
{
	const char *argument;

	*script = NULL;
	if (!next(arguments)) /* the program's name */
		return false;
	while ((argument = next(arguments))) {
		enum meaning meaning;

		if (argument[0] != '-') {
			*script = argument;
			return argument[0] != '\0';
		}
		if (!argument[1])
			return true; /* standard input */
		if (strcmp(argument, "--") == 0) {
			*script = next(arguments);
			return true;
		}
		meaning = read_option(argument);
		if (meaning == WORKING || meaning == NOWHERE)
			return meaning == WORKING;
		if (meaning == SKIPS && !next(arguments))
			return false;
	}
	return true;
}

/* Adds the parts of a path, without "." and "..", to `to`, which has room for them. */
static size_t add_path(char *to, size_t len, const char *path)
{
	while (*path) {
		size_t bytes = strcspn(path, "/");

		if (bytes == 2 && path[0] == '.' && path[1] == '.') {
			while (len && to[--len] != '/')
				;
		} else if (bytes && !(bytes == 1 && path[0] == '.')) {
			to[len++] = '/';
			memcpy(to + len, path, bytes);
			len += bytes;
		}
		path += bytes + (path[bytes] == '/');
	}
	return len;
}

char *python_line_dir(const char *line, size_t bytes, const char *cwd)
{
	struct arguments arguments = {line, line + bytes};
	const char *script;

	if (!find_script(&arguments, &script) || ((!script || script[0] != '/') && !cwd))
		return NULL;
	char *path = malloc((cwd ? strlen(cwd) : 0) + (script ? strlen(script) : 0) + 3);
	if (!path)
		return NULL;
	size_t len = script && script[0] == '/' ? 0 : add_path(path, 0, cwd);
	if (script) {
		len = add_path(path, len, script);
		while (len && path[--len] != '/') /* its own name */
			;
	}
	if (!len)
		path[len++] = '/';
	path[len] = '\0';
	return path;
}

static ssize_t read_line(pid_t pid, char *line, size_t bytes)
{
	char path[64];
	ssize_t sum = 0, got;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((got = read(fd, line + sum, bytes - (size_t)sum)) > 0)
		sum += got;
	return sum;
}

/* Its working folder, as it names it itself: below its own root, where that is another. */
static const char *read_cwd(pid_t pid, char cwd[PATH_MAX])
{
	char path[64], root[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	ssize_t len = readlink(path, cwd, PATH_MAX - 1);
	if (len <= 0 || cwd[0] != '/')
		return NULL;
	cwd[len] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	ssize_t above = readlink(path, root, sizeof(root));
	if (above > 1 && above < len && !memcmp(root, cwd, (size_t)above) && cwd[above] == '/')
		return cwd + above;
	return cwd;
}

char *python_script_dir(pid_t pid)
{
	_cleanup_free_ char *line = malloc(LINE_BYTES);
	char cwd[PATH_MAX];

	if (!line)
		return NULL;
	ssize_t bytes = read_line(pid, line, LINE_BYTES);
	if (bytes <= 0)
		return NULL;
	return python_line_dir(line, (size_t)bytes, read_cwd(pid, cwd));
}
