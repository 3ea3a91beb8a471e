// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/file_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/grow.h"
#include "file/registry_parts.h"

struct file_known {
	uint64_t hash;
	const struct file_id *id;
	struct symbol_file *file;
};

static bool has_segment(const struct file_code *code, const struct module *module)
{
	for (size_t i = 0; i < code->segments_count; i++) {
		const struct elf_segment *segment = &code->segments[i];

		if (segment->address == module->from && segment->file_offset == module->file_offset)
			return segment->file_bytes == module->to - module->from;
	}
	return false;
}

static bool is_file(const struct symbol_file *file, const struct module *module)
{
	const struct file_code *code = file->code;

	return code && code->build_id_bytes == module->build_id_len &&
	       memcmp(code->build_id, module->build_id, module->build_id_len) == 0 &&
	       strlen(file->path) == module->path_len &&
	       memcmp(file->path, module->path, module->path_len) == 0 && has_segment(code, module);
}

void file_index_done(struct file_index *index)
{
	free(index->known);
}

static uint64_t hash_file(uint64_t seed, const char *path, size_t path_len, const uint8_t *build_id,
			  size_t build_id_bytes)
{
	return hash_bytes(hash_bytes(seed, path, path_len), build_id, build_id_bytes);
}

static int compare_known(const void *a, const void *b)
{
	const struct file_known *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

int file_index_make(struct file_index *index, const struct symbol_files *files)
{
	size_t most = map_count(files->by_id);
	const struct file_id *id;
	struct symbol_file **file;

	*index = (struct file_index){.known = calloc(most + 1, sizeof(*index->known)),
				     .seed = hash_seed()};
	if (!index->known)
		return -ENOMEM;
	map_each (files->by_id, pos, id, file) {
		const struct file_code *code = (*file)->code;

		if (!code)
			continue;
		index->known[index->count++] = (struct file_known){
			hash_file(index->seed, (*file)->path, strlen((*file)->path), code->build_id,
				  code->build_id_bytes),
			id, *file};
	}
	qsort(index->known, index->count, sizeof(*index->known), compare_known);
	return 0;
}

static size_t find_hash(const struct file_index *index, uint64_t hash)
{
	return PARTITION_POINT(at, index->count, index->known[at].hash < hash);
}

struct symbol_file *file_index_find(const struct file_index *index, const struct module *module)
{
	uint64_t hash = hash_file(index->seed, module->path, module->path_len, module->build_id,
				  module->build_id_len);
	const struct file_known *found = NULL;

	for (size_t i = find_hash(index, hash); i < index->count && index->known[i].hash == hash;
	     i++) {
		const struct file_known *one = &index->known[i];

		if (!is_file(one->file, module))
			continue;
		if (found && !module->build_id_len &&
		    memcmp(&one->id->content, &found->id->content, sizeof(one->id->content)) != 0)
			return NULL;
		if (!found || one->file->last_used > found->file->last_used)
			found = one;
	}
	return found ? found->file : NULL;
}
