// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probed files and their points. One job runs at a time. What a target waits for comes first:
 * attaching, then reading, then detaching.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "alloc/allocators_state.h"

/* What nobody wants any more stays attached this long: the next target may want it. */
#define IDLE_NS (2 * NS_PER_S)
/* Delay of a sweep while more files are to be read, so that not each one causes a sweep. */
#define MORE_NS (10 * NS_PER_MS)

static bool is_same_content(const struct open_request_id *a, const struct open_request_id *b)
{
	/* The time of status change isn't compared: it changes when a name is removed. */
	return a->bytes == b->bytes && a->modified_s == b->modified_s &&
	       a->modified_ns == b->modified_ns;
}

static struct probed_file *find_or_add(struct allocators *allocators, const struct file_key *key)
{
	struct probed_file **slot = map_get(allocators->by_key, key);

	if (slot)
		return *slot;
	struct probed_file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	if (map_put(allocators->by_key, key, (void **)&slot) < 0) {
		free(file);
		return NULL;
	}
	file->allocators = allocators;
	file->key = *key;
	file->next = allocators->files;
	allocators->files = file;
	*slot = file;
	return file;
}

/* Allows another try: what one process couldn't open another one may. */
static void ask_again(struct probed_file *file)
{
	if (file->state == FILE_UNREADABLE && file->error == -ESRCH)
		file->state = FILE_NEW;
	for (enum allocator_part part = 0; part < PARTS; part++) {
		if (file->parts[part].error == -ESRCH)
			file->parts[part].error = 0;
	}
}

static void update_file(struct probed_file *file, struct symbol_file *symbols,
			const struct symbol_place *place, const struct open_request_id *content,
			const char *path)
{
	struct symbol_file *before = file->file;
	char *copy = strdup(path);

	if (copy) {
		free(file->path);
		file->path = copy;
	}
	if (before && !is_same_content(&file->content, content))
		file->outdated = true;
	file->content = *content;
	file->file = symbol_file_ref(symbols);
	symbol_file_unref(before);
	if (file->place.pid != place->pid)
		ask_again(file);
	file->place = *place;
}

struct probed_file *probed_file_get(struct allocators *allocators, struct symbol_file *file,
				    const struct symbol_place *place)
{
	struct open_request opening;
	struct open_request_id content;

	if (symbol_file_opening(file, place, &opening) < 0)
		return NULL;
	open_request_identify(&content, &opening.stat);
	struct file_key key = {content.device, content.inode};
	struct probed_file *probed = find_or_add(allocators, &key);
	if (probed) {
		update_file(probed, file, place, &content, opening.path);
		probed->users++;
	}
	open_request_done(&opening);
	return probed;
}

void probed_file_put(struct probed_file *file)
{
	if (--file->users == 0)
		file->last_ns = loop_now_ns();
}

struct probed_file *probed_file_real(struct probed_file *file)
{
	return file->same ? file->same : file;
}

void probed_file_use(struct probed_file *file, enum allocator_part part)
{
	file->parts[part].users++;
}

void probed_file_leave(struct probed_file *file, enum allocator_part part)
{
	if (--file->parts[part].users == 0)
		file->parts[part].last_ns = loop_now_ns();
}

unsigned probed_file_points(const struct probed_file *file, enum allocator_part part,
			    unsigned *stepped)
{
	unsigned points = 0;

	for (size_t i = 0; file->facts && i < file->facts->allocator.count; i++) {
		if (is_mapping(file->facts->points[i].call) != (part == PART_MAPPINGS))
			continue;
		points++;
		*stepped += file->facts->stepped[i];
	}
	return points;
}

/* ---- what came of the jobs ---- */

/*
 * Returns a file with the same content and inode number, on another overlayfs. Containers of one
 * image have its files at inodes of their own, above one common inode. (A copy made for writing has
 * the same times, too; such a copy isn't probed.)
 */
static struct probed_file *find_same(const struct probed_file *file)
{
	for (struct probed_file *at = file->allocators->files; at; at = at->next) {
		if (at != file && at->is_overlay && !at->same && at->state == FILE_READ &&
		    !at->outdated && at->key.inode == file->key.inode &&
		    is_same_content(&at->content, &file->content))
			return at;
	}
	return NULL;
}

static void work_over(struct probed_file *file)
{
	struct allocators *allocators = file->allocators;

	file->busy = false;
	allocators->working = false;
	files_step(allocators);
	if (!allocators->running) /* the file may be forgotten now */
		allocators_wake(allocators, loop_now_ns());
}

static void set_same(struct probed_file *file, struct probed_file *same)
{
	struct probed_file *before = file->same;

	file->same = same;
	if (same)
		same->users++;
	if (before)
		probed_file_put(before);
}

void probed_file_was_read(struct probed_file *file, struct read_facts *read)
{
	struct allocators *allocators = file->allocators;

	file->error = read->error;
	file->state = read->error ? FILE_UNREADABLE : FILE_READ;
	file->is_go = read->is_go;
	file->is_static = read->is_static;
	file->has_symbols = read->has_symbols;
	file->is_foreign = read->is_foreign;
	file->is_overlay = read->is_overlay;
	free(file->facts);
	file->facts = TAKE_PTR(read->facts);
	set_same(file, file->is_overlay && file->facts ? find_same(file) : NULL);
	allocators->rechoosing = allocators->dirty = true;
	work_over(file);
	allocators_wake(allocators, loop_now_ns() + (allocators->working ? MORE_NS : 0));
}

void probed_file_was_attached(struct probed_file *file, enum allocator_part which,
			      struct uprobes *uprobes, bool session, int error, const char *why)
{
	struct file_part *part = &file->parts[which];

	part->uprobes = uprobes;
	part->session = session;
	part->error = error;
	snprintf(part->why, sizeof(part->why), "%s", why);
	work_over(file);
}

void probed_file_was_detached(struct probed_file *file, enum allocator_part part)
{
	(void)part;
	work_over(file);
}

/* ---- what is to be done ---- */

static bool is_wanted(const struct probed_file *file, enum allocator_part which)
{
	const struct file_part *part = &file->parts[which];
	const struct allocators *allocators = file->allocators;

	if (!allocators->running || file->outdated)
		return false;
	if (part->uprobes && part->epoch != allocators->epoch)
		return false;
	return part->users || loop_now_ns() - part->last_ns < IDLE_NS;
}

static bool attach_part(struct probed_file *file)
{
	for (enum allocator_part which = 0; which < PARTS; which++) {
		struct file_part *part = &file->parts[which];
		unsigned stepped = 0;

		if (part->uprobes || part->error || !part->users || !is_wanted(file, which) ||
		    !probed_file_points(file, which, &stepped))
			continue;
		part->epoch = file->allocators->epoch;
		int r = work_attach(file, which);
		if (r == 0)
			return true;
		part->error = r;
		snprintf(part->why, sizeof(part->why), "its functions can't be probed: %s",
			 strerror(-r));
	}
	return false;
}

static bool read_anew(struct probed_file *file)
{
	if (!file->allocators->running || !file->users)
		return false;
	if (file->outdated && !file->parts[PART_HEAP].uprobes &&
	    !file->parts[PART_MAPPINGS].uprobes) {
		file->outdated = false;
		file->state = FILE_NEW;
	}
	if (file->state != FILE_NEW)
		return false;
	int r = work_read(file);
	if (r < 0) {
		file->state = FILE_UNREADABLE;
		file->error = r;
		file->allocators->rechoosing = true;
		allocators_wake(file->allocators, loop_now_ns());
	}
	return r == 0;
}

static bool detach_part(struct probed_file *file)
{
	for (enum allocator_part part = 0; part < PARTS; part++) {
		if (!file->parts[part].uprobes || is_wanted(file, part))
			continue;
		if (work_detach(file, part) == 0)
			return true;
		/* no memory for a job: detach at once */
		uprobes_close(TAKE_PTR(file->parts[part].uprobes));
	}
	return false;
}

static bool any_file_begins(struct allocators *allocators, bool (*begin)(struct probed_file *file))
{
	for (struct probed_file *file = allocators->files; file; file = file->next) {
		if (begin(file))
			return true;
	}
	return false;
}

void files_step(struct allocators *allocators)
{
	if (allocators->working || any_file_begins(allocators, attach_part) ||
	    any_file_begins(allocators, read_anew) || any_file_begins(allocators, detach_part))
		return;
	if (allocators->stopped) {
		void (*stopped)(void *arg) = TAKE_PTR(allocators->stopped);

		stopped(allocators->stopped_arg);
	}
}

/* ---- files without users ---- */

static void file_free(struct probed_file *file)
{
	for (enum allocator_part part = 0; part < PARTS; part++)
		uprobes_close(file->parts[part].uprobes);
	symbol_file_unref(file->file);
	free(file->facts);
	free(file->path);
	free(file);
}

static bool is_forgettable(const struct probed_file *file, uint64_t now_ns)
{
	return !file->users && !file->busy && !file->parts[PART_HEAP].uprobes &&
	       !file->parts[PART_MAPPINGS].uprobes &&
	       (!file->allocators->running || now_ns - file->last_ns >= IDLE_NS);
}

void files_sweep(struct allocators *allocators)
{
	uint64_t now_ns = loop_now_ns();

	for (struct probed_file **link = &allocators->files; *link;) {
		struct probed_file *file = *link;

		if (!is_forgettable(file, now_ns)) {
			link = &file->next;
			continue;
		}
		*link = file->next;
		set_same(file, NULL);
		map_del(allocators->by_key, &file->key);
		file_free(file);
	}
}

void files_free(struct allocators *allocators)
{
	while (allocators->files) {
		struct probed_file *file = allocators->files;

		allocators->files = file->next;
		file_free(file);
	}
}
