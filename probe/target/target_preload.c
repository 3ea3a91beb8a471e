// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps tables that nearly every new program wants at once: those of the C library, of the dynamic
 * linker and of the vDSO, as the daemon itself has them mapped.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "proc/proc.h"
#include "target/target_state.h"

static bool is_common(const struct mapping *mapping)
{
	static const char *const names[] = {"libc.", "libc-", "ld-"};

	if (mapping->kind == MAPPING_VDSO)
		return true;
	if (mapping->kind != MAPPING_FILE)
		return false;
	const char *slash = strrchr(mapping->path, '/'), *name = slash ? slash + 1 : mapping->path;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

static void keep_table(struct targets *targets, struct inspection *e, size_t i)
{
	const struct mapping *mapping = &e->maps.mappings[i];
	struct symbol_place place = {e->pid, mapping->start, mapping->end};
	struct symbol_file *file = target_file_of(targets, e, i, NULL, NULL, NULL);
	struct table *table = file ? tables_get(targets->tables, file, &place) : NULL;

	symbol_file_unref(file);
	if (table)
		targets->common[targets->common_count++] = table;
}

static void keep_common_files(void *arg, struct inspection *e, bool finished)
{
	struct targets *targets = arg;

	if (!finished || e->error || !tracer_arena(targets->tracer))
		return;
	for (size_t i = 0; i < e->maps.count && targets->common_count < COMMON_MAX; i++) {
		if (is_common(&e->maps.mappings[i]))
			keep_table(targets, e, i);
	}
}

void targets_keep_common(struct targets *targets)
{
	struct inspection question = {.pid = getpid(), .done = keep_common_files, .arg = targets};
	struct proc_stat stat;

	targets_drop_common(targets);
	if (proc_stat(question.pid, &stat) < 0)
		return; /* then they are made when they are wanted */
	question.start_ticks = stat.start_ticks;
	memcpy(question.comm, stat.comm, sizeof(question.comm));
	inspect(targets->urgent, &question);
}

void targets_drop_common(struct targets *targets)
{
	while (targets->common_count)
		table_unref(targets->common[--targets->common_count]);
}
