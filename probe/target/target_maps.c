// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes a process's mappings, as they were read, its address space, within its user's room. */
#include "target/target_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "runtime/made_dump.h"
#include "symbol/perfmap_flags.h"
#include "target/target_memory.h"

/* A file found by root's processes, or by its owner's, is shared with all other ones. */
static uint64_t whose_debug_file(const struct inspection *e, const struct opened *opened)
{
	uint64_t whose = e->job.whose;
	uid_t uid = job_user(whose);

	if (uid == 0 || uid == opened->stat.st_uid)
		return 0;
	return e->other_root || opened->in_open_folder ? whose : 0;
}

/*
 * Returns the user that reading a file is accounted to: its owner, whoever maps it, so that
 * nobody's hung jobs keep others from what all have mapped. If a server says who that is (FUSE),
 * the user of the process: a server says what it likes.
 */
static uint64_t whose_reading(const struct opened *opened, uint64_t mapping)
{
	uint32_t root = (uint32_t)(mapping >> JOB_ROOT_SHIFT);

	return opened->owner_is_told ? job_of(opened->stat.st_uid, root) : mapping;
}

/* Returns whether the process is a 32-bit one: it has no code above 4 GiB. (A 64-bit one has the
 * vDSO there, or what it moved that from.) */
static bool is_narrow(const struct maps *maps)
{
	return maps->count && maps->mappings[maps->count - 1].end <= UINT64_C(1) << 32;
}

struct symbol_file *target_file_of(struct targets *targets, struct inspection *e, size_t i,
				   struct symbol_root *root, struct symbol_file **files,
				   const struct address_space *space)
{
	const struct mapping *mapping = &e->maps.mappings[i];
	struct opened *opened = &e->opened[i];

	if (mapping->kind == MAPPING_VDSO)
		return symbol_files_vdso(targets->files, is_narrow(&e->maps));
	if (mapping->kind != MAPPING_FILE)
		return NULL;
	if (opened->same != i)
		return files && files[opened->same] ? symbol_file_ref(files[opened->same]) : NULL;
	if (opened->left_out)
		return symbol_files_left_out(targets->files);
	if (!opened->known)
		return symbol_file_nameless(mapping->path);
	const uint64_t whose = whose_debug_file(e, opened);
	const struct symbol_search search = {
		.root = root,
		.debugging_dir = e->match.debugging_dir,
		.whose = whose,
		.payer = whose ? whose : whose_reading(opened, e->job.whose),
	};
	struct symbol_file *known =
		space ? address_space_file_at(space, mapping->start, mapping->file_offset) : NULL;
	struct symbol_file *same =
		known ? symbol_files_again(known, &opened->fd, &opened->stat, &search) : NULL;
	if (same)
		return same;
	return symbol_files_get(targets->files, &opened->fd, &opened->stat, mapping->path, &search);
}

static bool is_program(const struct inspection *e, size_t i)
{
	const struct opened *opened = &e->opened[i];

	return e->has_program && opened->known && opened->stat.st_dev == e->program.st_dev &&
	       opened->stat.st_ino == e->program.st_ino;
}

/* Finds the file that is the program itself. */
static struct symbol_file *program_of(const struct inspection *e, struct symbol_file **files,
				      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is_program(e, i))
			return files[i];
	}
	return NULL;
}

/*
 * Selects the mappings to be taken, lest one user's fill our memory. *paths_bytes: of their paths.
 */
static struct maps as_many_as_fit(const struct targets *targets, const struct target *target,
				  const struct inspection *e, uint64_t *paths_bytes)
{
	uint64_t left =
		shares_left(targets->room, target->whose) + address_space_bytes(target->space);
	struct maps maps = e->maps;

	*paths_bytes = 0;
	for (size_t i = 0; i < e->maps.count; i++) {
		const struct opened *opened = &e->opened[i];
		const char *path = e->maps.mappings[i].path;
		uint64_t bytes =
			path && opened->same == i && !opened->left_out ? strlen(path) + 1 : 0;

		if (*paths_bytes + bytes + address_space_bytes_of(i + 1) > left) {
			maps.count = i;
			break;
		}
		*paths_bytes += bytes;
	}
	return maps;
}

/* Finds out how it is told to name the code that it makes. */
static const char *find_map_flag(const struct inspection *e, const struct maps *maps)
{
	const char *flag = NULL;

	for (size_t i = 0; !flag && i < maps->count; i++) {
		if (maps->mappings[i].kind == MAPPING_FILE && e->opened[i].same == i)
			flag = perfmap_flag(maps->mappings[i].path, is_program(e, i));
	}
	return flag;
}

/* Updates the space; takes over the files. */
static void update_space(struct targets *targets, struct target *target, const struct inspection *e,
			 const struct maps *maps, struct symbol_file **files, uint64_t paths_bytes)
{
	uint64_t before = address_space_bytes(target->space);

	if (address_space_update(target->space, maps, files, e->began_ns) < 0) {
		for (size_t i = 0; i < maps->count; i++)
			symbol_file_unref(files[i]);
		return;
	}
	address_space_set_paths(target->space, paths_bytes);
	if (address_space_bytes(target->space) > before)
		shares_take(targets->room, target->whose,
			    address_space_bytes(target->space) - before);
}

/*
 * From now on the process is identified by its root: services of one host have mount namespaces of
 * their own.
 */
static void take_root(struct target *target, struct inspection *e)
{
	if (!e->has_root)
		return;
	target->root_known = true;
	target->root_elsewhere = e->other_root ? symbol_root_mark(&e->root_stat) : 0;
	target->whose = e->job.whose = job_of(job_user(e->job.whose), target->root_elsewhere);
}

void target_take_maps(struct targets *targets, struct target *target, struct inspection *e)
{
	uint64_t paths_bytes;

	take_root(target, e);
	struct maps maps = as_many_as_fit(targets, target, e, &paths_bytes);
	_cleanup_free_ struct symbol_file **files =
		calloc(maps.count + 1, sizeof(struct symbol_file *));
	struct symbol_root *root = NULL;

	if (e->other_root)
		root = symbol_root_new(&e->root_fd, &e->root_stat);
	for (size_t i = 0; files && i < maps.count; i++)
		files[i] = target_file_of(targets, e, i, root, files, target->space);
	symbol_root_unref(root);
	targets->stats.mappings_left_out += e->left_out + e->maps.count - maps.count;
	target->netns_id = e->netns_id;
	target->map_flag = find_map_flag(e, &maps);
	if (target->program != e->program_id) {
		target_memory_drop(target);
		made_dump_unref(TAKE_PTR(target->dump));
	}
	target->program = e->program_id;
	target_find_dump(targets, target, &maps);
	log_debug("target %d (%.*s): its %zu mappings of code were read", (int)target->pid,
		  COMM_BYTES, target->comm, maps.count);
	if (!files)
		return;
	address_space_set_program(target->space, program_of(e, files, maps.count));
	update_space(targets, target, e, &maps, files, paths_bytes);
}

void target_copy_space(struct targets *targets, struct target *fresh, const struct target *before)
{
	if (address_space_bytes(before->space) > shares_left(targets->room, fresh->whose) ||
	    address_space_copy(&fresh->space, before->space) < 0) {
		fresh->space = NULL;
		return;
	}
	shares_take(targets->room, fresh->whose, address_space_bytes(fresh->space));
}

static void count_one(void *arg, struct target *target)
{
	shares_take(arg, target->whose, address_space_bytes(target->space));
}

void targets_count_room(struct targets *targets)
{
	shares_clear(targets->room);
	target_table_each_ever(targets->table, count_one, targets->room);
}
