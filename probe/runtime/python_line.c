// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum meaning {
	OPTION,	 /* an option without a value, or with the value in the same argument */
	SKIPS,	 /* an option whose value is the next argument */
	WORKING, /* -c, -m: modules are in the working folder; the rest is the program's */
	NOWHERE, /* -I, -P, -h, -V, or not an option of Python */
};

struct arguments {
	const char *at, *end;
};

static const char *next_argument(struct arguments *arguments)
{
	const char *found = arguments->at;

	if (found >= arguments->end)
		return NULL;
	const char *nul = memchr(found, '\0', (size_t)(arguments->end - found));
	arguments->at = nul ? nul + 1 : arguments->end;
	return nul ? found : NULL; /* an argument that was cut off doesn't count */
}

/* Reads the option letters behind one dash. */
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

/* Finds the script's argument; *script NULL: there is none, modules are in the working folder.
 * Returns false if the line doesn't say. */
static bool find_script(struct arguments *arguments, const char **script)
{
	const char *argument;

	*script = NULL;
	if (!next_argument(arguments)) /* the program's name */
		return false;
	while ((argument = next_argument(arguments))) {
		enum meaning meaning;

		if (argument[0] != '-') {
			*script = argument;
			return argument[0] != '\0';
		}
		if (!argument[1])
			return true; /* standard input */
		if (strcmp(argument, "--") == 0) {
			*script = next_argument(arguments);
			return true;
		}
		meaning = read_option(argument);
		if (meaning == WORKING || meaning == NOWHERE)
			return meaning == WORKING;
		if (meaning == SKIPS && !next_argument(arguments))
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

char *python_line_script(const char *line, size_t bytes, const char *cwd)
{
	struct arguments arguments = {line, line + bytes};
	const char *script;
	char *path = NULL;

	if (!find_script(&arguments, &script))
		return NULL;
	if (script && script[0] == '/')
		return strdup(script);
	if (!cwd || asprintf(&path, "%s/%s", cwd, script ? script : "") < 0)
		return NULL;
	return path;
}

char *python_line_dir(const char *script)
{
	const char *slash = strrchr(script, '/');
	_cleanup_free_ char *folder = strndup(script, slash ? (size_t)(slash - script) : 0);
	char *path = folder ? malloc(strlen(folder) + 2) : NULL;

	if (!path)
		return NULL;
	size_t len = add_path(path, 0, folder);
	if (!len)
		path[len++] = '/';
	path[len] = '\0';
	return path;
}
