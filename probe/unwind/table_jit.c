// SPDX-License-Identifier: GPL-2.0-or-later
/* The descriptor of made code in a file, looked for in the job that builds the file's table; and
 * tables of the rows that a process has for such code. */
#include <errno.h>

#include "proc/symbol_lookup.h"
#include "unwind/tables_state.h"

/* Bytes; most names are exported, and no program with LLVM inside has more. The bound saves time,
 * as other tables wait behind this job. */
#define STRINGS_MAX (32u * 1024 * 1024)

static int take_place(void *arg, size_t name, const Elf64_Sym *symbol)
{
	struct jit_place *place = arg;

	(void)name;
	if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && !place->descriptor)
		place->descriptor = symbol->st_value;
	return 0;
}

static void look_among(int fd, const struct elf_symbols *symbols, struct jit_place *place)
{
	static const char *const names[] = {"__jit_debug_descriptor"};

	if (symbols->symbols.bytes && symbols->strings.bytes <= STRINGS_MAX && !place->descriptor)
		symbol_lookup(fd, symbols, names, 1, take_place, place);
}

void jit_look(int fd, struct jit_place *place)
{
	struct elf_image image;

	*place = (struct jit_place){0};
	if (elf_read(fd, &image) < 0 || !image.wide)
		return;
	look_among(fd, &image.dynsym, place);
	look_among(fd, &image.symtab, place);
}

const struct jit_place *table_jit(const struct table *table, uint64_t file_offset,
				  const struct span *span, uint64_t *bias)
{
	uint64_t address;

	if (!table->jit.descriptor ||
	    !table_address(table, file_offset, span->end - span->start, &address))
		return NULL;
	*bias = span->start - address;
	return &table->jit;
}

struct table *tables_give(struct tables *tables, const struct table_image *image)
{
	struct table *table = tables->arena ? table_new(tables) : NULL;
	struct content *content;

	if (table)
		table_ref(table);
	if (!table || content_get(tables, &content, image) < 0) {
		tables->stats.refused++;
		table_unref(table);
		return NULL;
	}
	table_take_content(table, content);
	return table;
}

bool table_is_there(const struct table *table)
{
	return table->state == TABLE_THERE && table->content;
}

void table_span_at(struct tables *tables, struct table *table, uint64_t address, struct span *span)
{
	const struct content *content = table->content;

	table->content->last_used = ++tables->uses;
	span->base = span->start - (address - content->low);
	span->index = content->index;
	span->what = table_what(content);
}
