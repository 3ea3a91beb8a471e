// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source lines and inlined functions from DWARF, by libdw: a program of its own, for the library
 * reads files that a target may have made, and takes the memory that these ask for. It has limits
 * for both time and memory, and nobody's rights (line_reader/protocol.h says how it is asked).
 *
 * For each unit that holds an address the tree of its functions is gone through once, for all of
 * its addresses.
 */
#include "proc/capset.h"
#include "line_reader/protocol.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define DEPTH_MAX  256		       /* of DIEs in one another */
#define MEMORY_MAX (UINT64_C(2) << 30) /* of files, mapped or unpacked */
#define CPU_MAX_S  60
#define NOBODY	   65534

/* An address on its way through a unit. */
struct place {
	uint64_t address;
	bool found; /* the function that it is in */
	uint32_t inlined;
	Dwarf_Die levels[LINE_LEVELS_MAX]; /* outermost first: the function, and what is inlined */
};

struct reader {
	Dwarf *dwarf;
	struct place *places;
	size_t count;
	Dwarf_Off reached; /* of the unit's DIEs; the next one lies behind */
	FILE *out;
};

/* The first place at or behind an address. */
static size_t first_at(const struct reader *reader, uint64_t address)
{
	size_t low = 0, high = reader->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->places[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Calls `each` for the places that lie in a DIE's code; how many these are. */
static size_t for_places(struct reader *reader, Dwarf_Die *die,
			 void (*each)(struct place *place, Dwarf_Die *die))
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;
	size_t found = 0;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		for (size_t i = first_at(reader, begin);
		     i < reader->count && reader->places[i].address < end; i++, found++) {
			if (each)
				each(&reader->places[i], die);
		}
	}
	return found;
}

static void enter_function(struct place *place, Dwarf_Die *die)
{
	place->found = true;
	place->inlined = 0;
	place->levels[0] = *die;
}

static void enter_inlined(struct place *place, Dwarf_Die *die)
{
	if (place->found && place->inlined + 1 < LINE_LEVELS_MAX)
		place->levels[++place->inlined] = *die;
}

/* DIEs are met in the order in which they lie. Those of a file that was made to hurt may have one
 * for a child and for a sibling as well, and so on: each of them would double the ways. */
static bool is_new(struct reader *reader, Dwarf_Die *die)
{
	Dwarf_Off offset = dwarf_dieoffset(die);

	if (offset <= reader->reached)
		return false;
	reader->reached = offset;
	return true;
}

static void visit(struct reader *reader, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (!is_new(reader, &die))
			return;
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			if (for_places(reader, &die, enter_function))
				visit(reader, &die, depth + 1);
			break;
		case DW_TAG_inlined_subroutine:
			if (for_places(reader, &die, enter_inlined))
				visit(reader, &die, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (for_places(reader, &die, NULL))
				visit(reader, &die, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_interface_type:
		case DW_TAG_union_type:
			visit(reader, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static const char *name_of(Dwarf_Die *die)
{
	const char *name = text_of(die, DW_AT_linkage_name);

	if (!name)
		name = text_of(die, DW_AT_MIPS_linkage_name);
	return name ? name : text_of(die, DW_AT_name);
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Where the unit was compiled, for paths that are relative to it; NULL: not known. */
static const char *folder_of(Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
}

/* Where the innermost instruction's line is. */
static const char *line_of(Dwarf_Die *unit, uint64_t address, uint32_t *number)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int found;

	if (!line || dwarf_lineno(line, &found) != 0 || found <= 0)
		return NULL;
	*number = (uint32_t)found;
	return dwarf_linesrc(line, NULL, NULL);
}

/* Where an inlined function was called. */
static const char *call_of(Dwarf_Die *unit, Dwarf_Die *inlined, uint32_t *number)
{
	Dwarf_Files *files;
	size_t count;

	*number = number_of(inlined, DW_AT_call_line);
	if (dwarf_getsrcfiles(unit, &files, &count) != 0)
		return NULL;
	return dwarf_filesrc(files, number_of(inlined, DW_AT_call_file), NULL, NULL);
}

static uint16_t length_of(const char *text)
{
	return text ? (uint16_t)strnlen(text, LINE_TEXT_MAX) : 0;
}

struct level {
	struct line_level head;
	const char *folder, *file, *name; /* folder: NULL where the file's path is whole */
};

static void set_level(struct level *level, const char *folder, const char *file, uint32_t line,
		      const char *name)
{
	bool is_part = file && file[0] != '/' && folder;

	*level = (struct level){
		.head = {.line = line, .file_len = length_of(file), .name_len = length_of(name)},
		.folder = is_part ? folder : NULL,
		.file = file,
		.name = name};
	if (is_part)
		level->head.file_len = (uint16_t)(level->head.file_len + length_of(folder) + 1);
}

static void put(struct reader *reader, const char *text, size_t len)
{
	if (len)
		fwrite(text, len, 1, reader->out);
}

static void put_answer(struct reader *reader, uint64_t address, const struct level *levels,
		       uint32_t count)
{
	struct line_answer head = {.address = address, .levels = count};

	for (uint32_t i = 0; i < count; i++)
		head.text_bytes += (uint32_t)levels[i].head.file_len + levels[i].head.name_len;
	fwrite(&head, sizeof(head), 1, reader->out);
	for (uint32_t i = 0; i < count; i++)
		fwrite(&levels[i].head, sizeof(levels[i].head), 1, reader->out);
	for (uint32_t i = 0; i < count; i++) {
		const struct level *level = &levels[i];

		if (level->folder) {
			put(reader, level->folder, length_of(level->folder));
			put(reader, "/", 1);
		}
		put(reader, level->file, length_of(level->file));
		put(reader, level->name, level->head.name_len);
	}
}

static void answer(struct reader *reader, Dwarf_Die *unit, struct place *place)
{
	struct level levels[LINE_LEVELS_MAX];
	const char *folder = folder_of(unit);
	uint32_t line = 0, count = 0;
	const char *file = line_of(unit, place->address, &line);

	if (!place->found && !file)
		return;
	for (uint32_t i = place->found ? place->inlined + 1 : 1; i-- > 0;) {
		Dwarf_Die *die = &place->levels[i];
		const char *name = i ? name_of(die) : NULL;

		if (!i || name) /* whose name isn't known is but its caller's line */
			set_level(&levels[count++], folder, file, line, name);
		if (i)
			file = call_of(unit, die, &line);
	}
	put_answer(reader, place->address, levels, count);
}

static void read_unit(struct reader *reader, Dwarf_Die *unit)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	if (!for_places(reader, unit, NULL))
		return;
	reader->reached = dwarf_dieoffset(unit);
	visit(reader, unit, 0);
	while ((at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0) {
		for (size_t i = first_at(reader, begin);
		     i < reader->count && reader->places[i].address < end; i++)
			answer(reader, unit, &reader->places[i]);
	}
	fflush(reader->out); /* what is known when the time is over */
}

static void read_units(struct reader *reader)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (dwarf_get_units(reader->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		if (type == DW_UT_compile)
			read_unit(reader, &die);
	}
}

static int read_question(struct reader *reader)
{
	struct line_question question;

	if (fread(&question, sizeof(question), 1, stdin) != 1 ||
	    question.addresses > LINE_ADDRESSES_MAX)
		return -EBADMSG;
	reader->places = calloc(question.addresses + 1, sizeof(*reader->places));
	if (!reader->places)
		return -ENOMEM;
	for (; reader->count < question.addresses; reader->count++) {
		if (fread(&reader->places[reader->count].address, sizeof(uint64_t), 1, stdin) != 1)
			return -EBADMSG;
	}
	return 0;
}

static void limit(int what, rlim_t most)
{
	struct rlimit limit = {most, most};

	setrlimit(what, &limit);
}

static bool become_nobody(void)
{
	return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	       setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* Nobody's rights, and as much as reading takes. False: it has more. */
static bool give_up_rights(void)
{
#ifndef __SANITIZE_ADDRESS__ /* that takes more by itself */
	limit(RLIMIT_AS, MEMORY_MAX);
#endif
	limit(RLIMIT_NOFILE, 0); /* libdw would look for further files by itself */
	limit(RLIMIT_CPU, CPU_MAX_S);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_CORE, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return false;
	/* The daemon has made it nobody's already: root's would have been left its capabilities by
	 * the exec. Who isn't root may have been given some to inherit. */
	if (geteuid() == 0 && !become_nobody())
		return false;
	if (capset_clear() < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return false;
	/* A file that hangs is nobody's then. Another user's process would lose it: it comes last.
	 * Where the daemon has not CAP_KILL it has no effect: then the alarm ends it that the
	 * daemon has set. */
	return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

int main(void)
{
	struct reader reader = {.out = stdout};

	if (!give_up_rights())
		return EXIT_FAILURE;

	if (elf_version(EV_CURRENT) == EV_NONE || read_question(&reader) < 0)
		return EXIT_FAILURE;
	reader.dwarf = dwarf_begin(LINE_READER_FILE, DWARF_C_READ);
	if (!reader.dwarf)
		return EXIT_FAILURE;
	Dwarf *other = dwarf_begin(LINE_READER_ALT, DWARF_C_READ);
	if (other)
		dwarf_setalt(reader.dwarf, other);
	read_units(&reader);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
