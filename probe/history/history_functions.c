// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/intern.h"
#include "history/history_functions_state.h"

#define NAMES_MAX (64u * 1024 * 1024)

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

int64_t functions_find(struct functions *functions, uint32_t process, enum frame_type type,
		       const char *name, size_t len)
{
	const struct function_key head = {process, (unsigned char)type};
	_cleanup_free_ char *key = malloc(sizeof(head) + len);

	if (!key)
		return -ENOMEM;
	memcpy(key, &head, sizeof(head));
	memcpy(key + sizeof(head), name, len);
	if (reserve_row(functions) < 0)
		return -ENOMEM;
	int64_t number = intern_add(functions->names, key, sizeof(head) + len);
	if (number < 0 || (size_t)number < functions->count)
		return number;
	functions->count++;
	functions->now[number] = (struct function_now){0};
	functions->rows[number] = (struct function_row){
		.type = type,
		.name = intern_get(functions->names, (uint32_t)number, NULL) + sizeof(head),
		.process = process,
	};
	return number;
}
