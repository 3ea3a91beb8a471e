// SPDX-License-Identifier: GPL-2.0-or-later
/* Tells the kernel's side which files have tables, by what the kernel knows of a file, for
 * processes whose mappings aren't read yet (bpf/shared/known_files.h). */
#include "unwind/tables_state.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "bpf/shared/sample.h"

#define KERNEL_MINOR_BITS 20

/* The file that is told names frames of all processes, so it is not one of a process with another
 * root or user, whose debug file others may not take. */
static bool choose_file(struct table *table)
{
	if (table->file && symbol_file_is_everyones(table->file)) {
		symbol_file_ref(table->file);
		symbol_file_unref(table->shown);
		table->shown = table->file;
	}
	return table->shown;
}

static bool key_of(struct table *table, struct known_file_key *key)
{
	struct stat stat;

	*key = (struct known_file_key){0};
	if (!choose_file(table))
		return false;
	if (symbol_file_is_vdso(table->shown)) {
		key->bytes = symbol_file_is_narrow_vdso(table->shown) ? VDSO_KEY_NARROW : 0;
		return true;
	}
	symbol_file_stat(table->shown, &stat);
	*key = (struct known_file_key){
		.inode = stat.st_ino,
		.bytes = (uint64_t)stat.st_size,
		.changed_s = (uint64_t)stat.st_ctim.tv_sec,
		.changed_ns = (uint32_t)stat.st_ctim.tv_nsec,
		.device = major(stat.st_dev) << KERNEL_MINOR_BITS | minor(stat.st_dev),
	};
	return true;
}

static bool fill_in(struct table *table, struct known_file *known)
{
	const struct content *content = table->content;

	*known = (struct known_file){
		.number = table->known_number,
		.runtimes = (table->python ? WALKS_PYTHON : 0) | (table->hotspot ? WALKS_JAVA : 0),
	};
	if (table->state == TABLE_BARE) {
		known->what = (uint32_t)SPAN_BARE << SPAN_KIND_SHIFT;
		return true;
	}
	if (table->state != TABLE_THERE || table->segments_count > KNOWN_SEGMENTS_MAX)
		return false;
	known->index = content->index;
	known->what = table_what(content);
	for (size_t i = 0; i < table->segments_count; i++) {
		const struct elf_segment *segment = &table->segments[i];

		known->segments[i] = (struct known_segment){
			.from = segment->file_offset,
			.to = segment->file_offset + segment->file_bytes,
			.shift = segment->address - segment->file_offset - content->low,
		};
	}
	return true;
}

void table_hide(struct table *table)
{
	struct tables *tables = table->tables;

	if (table->is_known && tables && tables->known.drop)
		tables->known.drop(tables->known.arg, &table->known_key);
	table->is_known = false;
}

void table_show(struct table *table)
{
	struct tables *tables = table->tables;
	struct known_file known;

	table_hide(table);
	if (!tables->known.put || !key_of(table, &table->known_key))
		return;
	if (!table->known_number)
		table->known_number = ++tables->known_numbers;
	if (fill_in(table, &known))
		table->is_known =
			tables->known.put(tables->known.arg, &table->known_key, &known) == 0;
}

void tables_tell_known(struct tables *tables, const struct known_ops *ops)
{
	tables->known = *ops;
}

struct symbol_file *tables_known(const struct tables *tables, uint32_t number)
{
	for (struct table *table = tables->all; number && table; table = table->next) {
		if (table->known_number == number)
			return table->shown;
	}
	return NULL;
}
