// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/intern.h"
#include "history/history_functions_state.h"

#define NAMES_MAX (64u * 1024 * 1024)
/* A row takes 180 bytes beside its name. More functions than that, or with longer names, aren't
 * told by process; processes have room behind them. */
#define ROWS_MAX	     400000
#define OF_PROCESS_MAX	     200000
#define NAMES_OF_PROCESS_MAX (NAMES_MAX / 4 * 3)

int functions_new(struct functions **ret)
{
	struct functions *functions = calloc(1, sizeof(*functions));

	if (!functions)
		return -ENOMEM;
	if (intern_new(&functions->names, NAMES_MAX) < 0) {
		free(functions);
		return -ENOMEM;
	}
	*ret = functions;
	return 0;
}

void functions_free(struct functions *functions)
{
	if (!functions)
		return;
	intern_free(functions->names);
	free(functions->rows);
	free(functions->now);
	free(functions->touched);
	free(functions);
}

size_t functions_count(const struct functions *functions)
{
	return functions->count;
}

const struct function_row *functions_at(const struct functions *functions, size_t number)
{
	return &functions->rows[number];
}

bool functions_by_process(const struct functions *functions)
{
	return functions->by_process;
}

uint64_t functions_refused(const struct functions *functions)
{
	return functions->refused;
}

void functions_leave_out(struct functions *functions, size_t number)
{
	functions->rows[number].is_left_out = true;
}

/* Makes room for a function, and for its place in the list of those that a record has. */
static int reserve_row(struct functions *functions)
{
	size_t capacity = functions->capacity;

	if (array_grow(functions->now, capacity, functions->count + 1, 256) < 0)
		return -ENOMEM;
	capacity = functions->capacity;
	if (array_grow(functions->touched, capacity, functions->count + 1, 256) < 0 ||
	    array_grow(functions->rows, functions->capacity, functions->count + 1, 256) < 0)
		return -ENOMEM;
	return 0;
}

/* Returns whether there is no room for one more function of a process, or of all. */
static bool is_full(const struct functions *functions, uint32_t process, size_t len)
{
	if (process == NO_PROCESS) /* without any of a process the names alone are bounded */
		return functions->of_process_bytes && functions->count >= ROWS_MAX;
	return functions->count >= OF_PROCESS_MAX ||
	       functions->of_process_bytes + len > NAMES_OF_PROCESS_MAX;
}

int64_t functions_find(struct functions *functions, uint32_t process, enum frame_type type,
		       const char *name, size_t len)
{
	const struct function_row_key head = {process, (unsigned char)type};
	_cleanup_free_ char *key = malloc(sizeof(head) + len);

	if (!key)
		return -ENOMEM;
	memcpy(key, &head, sizeof(head));
	memcpy(key + sizeof(head), name, len);
	if (is_full(functions, process, sizeof(head) + len)) {
		int64_t known = intern_find(functions->names, key, sizeof(head) + len);

		return known < 0 ? -ENOSPC : known;
	}
	if (reserve_row(functions) < 0)
		return -ENOMEM;
	int64_t number = intern_add(functions->names, key, sizeof(head) + len);
	if (number < 0 || (size_t)number < functions->count)
		return number;
	functions->count++;
	functions->of_process_bytes += process == NO_PROCESS ? 0 : sizeof(head) + len + 1;
	functions->now[number] = (struct function_now){0};
	functions->rows[number] = (struct function_row){
		.type = type,
		.name = intern_get(functions->names, (uint32_t)number, NULL) + sizeof(head),
		.process = process,
	};
	return number;
}
