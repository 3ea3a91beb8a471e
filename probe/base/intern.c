// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names lie in chunks that never move (so that intern_get's pointers stay valid); an array finds
 * a name by its number, an open-addressing table of numbers finds the number of a name.
 */
#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"

struct text_chunk {
	struct text_chunk *next;
	size_t used;
	size_t capacity;
	char data[];
};

struct name {
	const char *text;
	uint32_t len;
	uint32_t hash;
};

struct intern {
	struct text_chunk *chunks;
	struct name *names;
	size_t count, capacity;
	uint32_t *table; /* number + 1, 0 = free */
	size_t table_size;
	size_t bytes, max_bytes;
	uint64_t seed;
};

#define CHUNK_BYTES (32 * 1024)

int intern_new(struct intern **ret, size_t max_bytes)
{
	struct intern *intern = calloc(1, sizeof(*intern));

	if (!intern)
		return -ENOMEM;
	intern->max_bytes = max_bytes;
	intern->seed = hash_seed();
	*ret = intern;
	return 0;
}

void intern_free(struct intern *intern)
{
	if (!intern)
		return;
	while (intern->chunks) {
		struct text_chunk *next = intern->chunks->next;

		free(intern->chunks);
		intern->chunks = next;
	}
	free(intern->names);
	free(intern->table);
	free(intern);
}

static size_t find_slot(const struct intern *intern, const char *text, size_t len, uint32_t hash)
{
	size_t i = hash & (intern->table_size - 1);

	while (intern->table[i]) {
		const struct name *name = &intern->names[intern->table[i] - 1];

		if (name->hash == hash && name->len == len && memcmp(name->text, text, len) == 0)
			break;
		i = (i + 1) & (intern->table_size - 1);
	}
	return i;
}

static int grow_table(struct intern *intern)
{
	size_t size = intern->table_size ? intern->table_size * 2 : 256;
	uint32_t *table = calloc(size, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (size_t n = 0; n < intern->count; n++) {
		size_t i = intern->names[n].hash & (size - 1);

		while (table[i])
			i = (i + 1) & (size - 1);
		table[i] = (uint32_t)n + 1;
	}
	free(intern->table);
	intern->table = table;
	intern->table_size = size;
	return 0;
}

static char *store_text(struct intern *intern, const char *text, size_t len)
{
	struct text_chunk *chunk = intern->chunks;

	if (!chunk || chunk->capacity - chunk->used < len + 1) {
		size_t capacity = len + 1 > CHUNK_BYTES ? len + 1 : CHUNK_BYTES;

		chunk = malloc(sizeof(*chunk) + capacity);
		if (!chunk)
			return NULL;
		chunk->capacity = capacity;
		chunk->used = 0;
		chunk->next = intern->chunks;
		intern->chunks = chunk;
	}
	char *copy = chunk->data + chunk->used;
	memcpy(copy, text, len);
	copy[len] = '\0';
	chunk->used += len + 1;
	intern->bytes += len + 1;
	return copy;
}

int64_t intern_add(struct intern *intern, const char *text, size_t len)
{
	uint32_t hash = (uint32_t)hash_bytes(intern->seed, text, len);

	if (intern->count + 1 > intern->table_size / 4 * 3 && grow_table(intern) < 0)
		return -ENOMEM;
	size_t i = find_slot(intern, text, len, hash);
	if (intern->table[i])
		return intern->table[i] - 1;
	if (len >= UINT32_MAX || intern->bytes + len + 1 > intern->max_bytes)
		return -ENOSPC;
	if (array_grow(intern->names, intern->capacity, intern->count + 1, 128) < 0)
		return -ENOMEM;
	char *copy = store_text(intern, text, len);
	if (!copy)
		return -ENOMEM;
	intern->names[intern->count] = (struct name){copy, (uint32_t)len, hash};
	intern->table[i] = (uint32_t)++intern->count;
	return (int64_t)intern->count - 1;
}

int64_t intern_find(const struct intern *intern, const char *text, size_t len)
{
	if (!intern->table_size)
		return -ENOENT;
	uint32_t hash = (uint32_t)hash_bytes(intern->seed, text, len);
	size_t i = find_slot(intern, text, len, hash);

	return intern->table[i] ? (int64_t)intern->table[i] - 1 : -ENOENT;
}

size_t intern_count(const struct intern *intern)
{
	return intern->count;
}

const char *intern_get(const struct intern *intern, uint32_t id, size_t *len)
{
	if (len)
		*len = intern->names[id].len;
	return intern->names[id].text;
}
