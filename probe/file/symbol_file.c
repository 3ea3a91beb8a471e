// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/registry_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct symbol_file *symbol_file_ref(struct symbol_file *file)
{
	atomic_fetch_add(&file->refs, 1);
	return file;
}

void file_let_go(struct symbol_file *file)
{
	held_fd_unref(TAKE_PTR(file->held));
}

void symbol_file_unref(struct symbol_file *file)
{
	if (!file || atomic_fetch_sub(&file->refs, 1) > 1)
		return;
	file_let_go(file);
	symbol_root_unref(file->root);
	function_cache_done(&file->ranges);
	lines_free(file->lines);
	free(file->debug.path);
	free(file->wanted);
	free(file->code);
	free(file->path);
	free(file->debugging_dir);
	free(file);
}

void file_unref(struct symbol_file **file)
{
	symbol_file_unref(*file);
}

struct symbol_file *file_new(const char *path, const char *debugging_dir)
{
	_cleanup_(file_unref) struct symbol_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->refs = 1;
	file->path = strdup(path);
	if (!file->path)
		return NULL;
	if (debugging_dir && debugging_dir[0]) {
		file->debugging_dir = strdup(debugging_dir);
		if (!file->debugging_dir)
			return NULL;
	}
	return TAKE_PTR(file);
}

struct symbol_file *symbol_file_nameless(const char *path)
{
	struct symbol_file *file = file_new(path, NULL);

	if (file)
		file->error = -ENOENT;
	return file;
}

const char *symbol_file_path(const struct symbol_file *file)
{
	return file->path;
}

int symbol_file_opening(const struct symbol_file *file, const struct symbol_place *place,
			struct open_request *opening)
{
	if (file->error == -ENOENT)
		return -ENOENT;
	*opening = (struct open_request){
		.held = held_fd_ref(file->held),
		.place = *place,
		.stat = file->stat,
		.path = file->path,
		.root = symbol_root_ref(file->root),
		.worker = file->worker,
		.whose = file->payer,
	};
	return 0;
}

void symbol_file_hold(struct symbol_file *file, struct open_request *opening)
{
	if (!file->held)
		file->held = TAKE_PTR(opening->held);
}

bool symbol_file_find(const struct symbol_file *file, uint64_t offset,
		      struct symbol_function *function)
{
	const struct cached_function *range = function_cache_find(&file->ranges, offset);

	if (!range)
		return false;
	*function = (struct symbol_function){
		.name = function_cache_name(&file->ranges, range),
		.address = range->address,
	};
	return true;
}

bool symbol_file_locate(const struct symbol_file *file, uint64_t offset, struct module *module,
			uint64_t *address)
{
	const struct file_code *code = file->code;

	for (size_t i = 0; code && i < code->segments_count; i++) {
		const struct elf_segment *segment = &code->segments[i];

		if (offset - segment->file_offset >= segment->file_bytes)
			continue;
		*module = (struct module){
			.path = file->path,
			.path_len = strlen(file->path),
			.build_id = code->build_id,
			.build_id_len = code->build_id_bytes,
			.from = segment->address,
			.to = segment->address + segment->file_bytes,
			.file_offset = segment->file_offset,
		};
		*address = segment->address + (offset - segment->file_offset);
		return true;
	}
	return false;
}

const char *symbol_file_module(const struct symbol_file *file)
{
	const char *slash = strrchr(file->path, '/');

	return slash && slash[1] ? slash + 1 : file->path;
}

const char *symbol_file_debugging_dir(const struct symbol_file *file)
{
	return file->debugging_dir;
}

const struct symbol_root *symbol_file_root(const struct symbol_file *file)
{
	return file->root;
}

bool symbol_file_is_everyones(const struct symbol_file *file)
{
	return !file->whose && !file->root && !file->error;
}

bool symbol_file_is_vdso(const struct symbol_file *file)
{
	return strcmp(file->path, "[vdso]") == 0;
}

bool symbol_file_is_narrow_vdso(const struct symbol_file *file)
{
	return file->is_narrow_vdso;
}

void symbol_file_stat(const struct symbol_file *file, struct stat *stat)
{
	*stat = file->stat;
}

bool symbol_file_is_jit(const struct symbol_file *file)
{
	return file->error == -ENOEXEC && strncmp(file->path, "/memfd:", 7) == 0;
}
