// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/folder_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "select/spec.h"

#define FILE_NAME      "folders"
#define FILE_BYTES_MAX (FOLDER_LIST_MAX * (SPEC_PATH_MAX + 64))

static const char *const kinds[] = {"svg", "folded"};

void folder_list_done(struct folder_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->rows[i].path);
	list->count = 0;
}

void folder_list_remove(struct folder_list *list, size_t row)
{
	free(list->rows[row].path);
	list->count--;
	memmove(&list->rows[row], &list->rows[row + 1],
		(list->count - row) * sizeof(list->rows[0]));
}

static struct folder_row *find_row(struct folder_list *list, const char *path, bool folded)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->rows[i].folded == folded && strcmp(list->rows[i].path, path) == 0)
			return &list->rows[i];
	}
	return NULL;
}

/* Returns the bytes of the folders that two paths have in common, with the slash after them. */
static size_t common_bytes(const char *a, const char *b)
{
	size_t end = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++) {
		if (a[i] == '/')
			end = i + 1;
	}
	return end;
}

/*
 * Shares `found` between rows: a folder made for one path is above others, too; the last of them
 * removes it.
 */
static void share_made(struct folder_list *list)
{
	for (size_t i = 0; i < list->count * list->count; i++) {
		struct folder_row *row = &list->rows[i / list->count];
		const struct folder_row *made = &list->rows[i % list->count];

		if (made->found < row->found && row->found <= common_bytes(row->path, made->path))
			row->found = made->found;
	}
}

/*
 * Moves a row to the end: rows are in the order of last use, so that the first one is dropped
 * first.
 */
static struct folder_row *move_to_end(struct folder_list *list, struct folder_row *row)
{
	struct folder_row moved = *row, *last = &list->rows[list->count - 1];

	memmove(row, row + 1, (size_t)(last - row) * sizeof(*row));
	*last = moved;
	return last;
}

int folder_list_add(struct folder_list *list, const char *path, bool folded, size_t found,
		    char **forgotten)
{
	struct folder_row *row = find_row(list, path, folded);

	*forgotten = NULL;
	if (row) {
		bool less = found < row->found;

		row = move_to_end(list, row);
		row->used = ++list->uses;
		row->missing_since_s = 0;
		row->found = less ? found : row->found;
		if (less)
			share_made(list);
		return less;
	}
	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	if (list->count == FOLDER_LIST_MAX) {
		*forgotten = TAKE_PTR(list->rows[0].path);
		folder_list_remove(list, 0);
	}
	row = &list->rows[list->count++];
	*row = (struct folder_row){
		.path = copy, .folded = folded, .found = found, .used = ++list->uses};
	share_made(list);
	return 1;
}

/* "svg 12 /tmp/profiles" */
static int take_line(struct folder_list *list, char *line)
{
	char kind[8], *forgotten;
	size_t found;
	int at = 0;

	if (sscanf(line, "%7s %zu %n", kind, &found, &at) != 2 || line[at] != '/' ||
	    strlen(line + at) >= SPEC_PATH_MAX || found > strlen(line + at))
		return -EINVAL;
	bool folded = strcmp(kind, kinds[true]) == 0;
	if ((!folded && strcmp(kind, kinds[false]) != 0) || list->count == FOLDER_LIST_MAX)
		return -EINVAL;
	int r = folder_list_add(list, line + at, folded, found, &forgotten);
	return r < 0 ? r : 0;
}

static bool has_state(const struct folder_list *list)
{
	return list->state_dir && list->state_dir[0];
}

int folder_list_read(struct folder_list *list)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FILE_BYTES_MAX);

	if (!has_state(list))
		return -ENOENT;
	int r = file_read_own(list->state_dir, FILE_NAME, &text);
	buf_char(&text, '\0');
	if (r == 0)
		r = buf_error(&text);
	for (char *line = text.data, *end; r == 0 && *line; line = end) {
		end = line + strcspn(line, "\n");
		if (!*end)
			return -EINVAL;
		*end++ = '\0';
		r = take_line(list, line);
	}
	return r;
}

int folder_list_write(const struct folder_list *list)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FILE_BYTES_MAX);
	char number[32];

	if (!has_state(list))
		return 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct folder_row *row = &list->rows[i];

		snprintf(number, sizeof(number), " %zu ", row->found);
		buf_str(&text, kinds[row->folded]);
		buf_str(&text, number);
		buf_str(&text, row->path);
		buf_char(&text, '\n');
	}
	if (buf_error(&text))
		return buf_error(&text);
	return file_replace(list->state_dir, FILE_NAME, text.data, text.len);
}
