// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/intern.h"
#include "base/map.h"

/* A module with numbers for its texts. The whole entry is its key: it has no padding. */
struct module_entry {
	uint32_t path, build_id;
	uint64_t from, to, file_offset;
};

struct modules {
	struct module **each;
	size_t count, capacity;
	struct intern *texts;
	struct map *numbers; /* struct module_entry -> uint32_t */
};

int modules_new(struct modules **ret, struct intern *texts, size_t max)
{
	_cleanup_free_ struct modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	modules->texts = texts;
	int r = map_new(&modules->numbers, sizeof(struct module_entry), sizeof(uint32_t), max);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(modules);
	return 0;
}

void modules_free(struct modules *modules)
{
	if (!modules)
		return;
	for (size_t i = 0; i < modules->count; i++)
		free(modules->each[i]);
	free(modules->each);
	map_free(modules->numbers);
	free(modules);
}

static int reserve_module(struct modules *modules)
{
	return array_grow(modules->each, modules->capacity, modules->count + 1, 16);
}

/* Makes a module with the texts of modules->texts. NULL: no memory. */
static struct module *copy_module(const struct modules *modules, const struct module_entry *entry)
{
	struct module *made = malloc(sizeof(*made));

	if (!made)
		return NULL;
	*made = (struct module){
		.from = entry->from, .to = entry->to, .file_offset = entry->file_offset};
	made->path = intern_get(modules->texts, entry->path, &made->path_len);
	made->build_id =
		(const uint8_t *)intern_get(modules->texts, entry->build_id, &made->build_id_len);
	return made;
}

int64_t modules_add(struct modules *modules, const struct module *module)
{
	int64_t path = intern_add(modules->texts, module->path, module->path_len);
	int64_t build_id = intern_add(modules->texts,
				      module->build_id_len ? (const char *)module->build_id : "",
				      module->build_id_len);
	uint32_t *number;

	if (path < 0 || build_id < 0)
		return path < 0 ? path : build_id;
	struct module_entry entry = {(uint32_t)path, (uint32_t)build_id, module->from, module->to,
				     module->file_offset};
	number = map_get(modules->numbers, &entry);
	if (number)
		return *number;
	_cleanup_free_ struct module *made = copy_module(modules, &entry);
	int r = made ? reserve_module(modules) : -ENOMEM;
	if (r == 0)
		r = map_put(modules->numbers, &entry, (void **)&number);
	if (r < 0)
		return r;
	modules->each[modules->count++] = TAKE_PTR(made);
	*number = (uint32_t)modules->count;
	return *number;
}

const struct module *modules_get(const struct modules *modules, uint32_t number)
{
	return modules->each[number - 1];
}
