// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses which of a process's files it allocates by. The dynamic loader takes the first file that
 * defines malloc: the program itself, else a library that was put before the C library for that
 * very purpose, else the C library.
 */
#include "alloc/allocators_state.h"

static bool is_c_library(const struct file_facts *facts)
{
	return facts->allocator.kind == ALLOCATOR_GLIBC || facts->allocator.kind == ALLOCATOR_MUSL;
}

static void add_choice(struct watched *watched, struct probed_file *file, bool heap, bool mappings)
{
	file = probed_file_real(file);
	for (size_t i = 0; i < watched->chosen_count; i++) {
		struct choice *choice = &watched->chosen[i];

		if (choice->file != file)
			continue;
		choice->parts[PART_HEAP] |= heap;
		choice->parts[PART_MAPPINGS] |= mappings;
		return;
	}
	if (watched->chosen_count < CHOSEN_MAX)
		watched->chosen[watched->chosen_count++] = (struct choice){file, {heap, mappings}};
}

static const struct file_facts *facts_of(struct probed_file *file)
{
	return probed_file_real(file)->facts;
}

static bool is_own_default(struct probed_file *file)
{
	const struct file_facts *facts = facts_of(file);

	return facts && facts->allocator.is_default;
}

/*
 * Chooses the default allocator: the program's, else the libraries', else the C library's. A
 * library's allocator may lack a function that the C library has (pvalloc), which is called then.
 * So the C library is probed too, beside libraries whose allocator is known to call no other one.
 */
static bool choose_default(struct watched *watched)
{
	bool by_program = watched->has_program && is_own_default(watched->files[0]);
	bool found = by_program, ends_there = true;
	struct probed_file *c_library = NULL;

	if (by_program)
		add_choice(watched, watched->files[0], true, true);
	for (size_t i = watched->has_program; i < watched->count; i++) {
		struct probed_file *file = watched->files[i];

		if (!is_own_default(file))
			continue;
		if (is_c_library(facts_of(file))) {
			c_library = file;
		} else if (!by_program) {
			add_choice(watched, file, true, true);
			ends_there =
				ends_there && facts_of(file)->allocator.kind != ALLOCATOR_OTHER;
			found = true;
		}
	}
	if (c_library)
		add_choice(watched, c_library, !found || (!by_program && ends_there), true);
	return found || c_library;
}

/* Adds allocators with prefixed names, which are used beside the default one. */
static void choose_private(struct watched *watched)
{
	for (size_t i = 0; i < watched->count; i++) {
		const struct file_facts *facts = facts_of(watched->files[i]);

		if (facts && !facts->allocator.is_default)
			add_choice(watched, watched->files[i], true, false);
	}
}

/* Says in a sentence why no allocator was found. */
static void explain_none(struct watched *watched)
{
	const struct probed_file *program = watched->has_program ? watched->files[0] : NULL;

	watched->unsupported = true;
	watched->why = "none of its files defines malloc and free";
	for (size_t i = 0; i < watched->count; i++) {
		if (watched->files[i]->state != FILE_UNREADABLE)
			continue;
		watched->unsupported = false;
		watched->failed = true;
		watched->why =
			"a file that it has mapped can't be read: its allocator may be there";
	}
	if (!program || program->state != FILE_READ)
		return;
	if (program->is_foreign)
		watched->why = "a 32-bit program: only 64-bit ones are probed";
	else if (program->is_go)
		watched->why =
			"Go's own allocator; it has no C parts, which would allocate by malloc";
	else if (program->is_static && !program->has_symbols)
		watched->why = "a static program without symbols: its allocator can't be found";
	else if (program->is_static)
		watched->why = "a static program that defines no malloc";
	else
		return;
	watched->unsupported = true;
	watched->failed = false;
}

bool watched_is_attached(const struct watched *watched)
{
	for (size_t i = 0; i < watched->chosen_count; i++) {
		const struct choice *choice = &watched->chosen[i];

		for (enum allocator_part which = 0; which < PARTS; which++) {
			const struct file_part *part = &choice->file->parts[which];
			unsigned stepped = 0;

			if (choice->parts[which] && !part->uprobes && !part->error &&
			    probed_file_points(choice->file, which, &stepped))
				return false;
		}
	}
	return true;
}

void watched_leave(struct watched *watched)
{
	for (size_t i = 0; i < watched->chosen_count; i++) {
		struct choice *choice = &watched->chosen[i];

		for (enum allocator_part part = 0; part < PARTS; part++) {
			if (choice->parts[part])
				probed_file_leave(choice->file, part);
		}
		probed_file_put(choice->file);
	}
	watched->chosen_count = 0;
}

void watched_choose(struct watched *watched)
{
	struct watched before = *watched;

	for (size_t i = 0; i < watched->count; i++) {
		if (probed_file_real(watched->files[i])->state == FILE_NEW)
			return;
	}
	watched->settled = true;
	watched->chosen_count = 0;
	watched->unsupported = watched->failed = false;
	watched->why = "";
	bool found = choose_default(watched);
	choose_private(watched);
	if (!watched->chosen_count)
		explain_none(watched);
	else if (watched->has_program && watched->files[0]->is_go)
		watched->why =
			"Go's own allocator isn't probed; only its C parts allocate by malloc";
	else if (!found)
		watched->why = "of its allocators only one for its own use was found";
	for (size_t i = 0; i < watched->chosen_count; i++) {
		watched->chosen[i].file->users++;
		for (enum allocator_part part = 0; part < PARTS; part++) {
			if (watched->chosen[i].parts[part])
				probed_file_use(watched->chosen[i].file, part);
		}
	}
	/* after the new choice has users, so that nothing is detached between */
	watched_leave(&before);
}
