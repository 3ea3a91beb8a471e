// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/file_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/file_index.h"
#include "symbol/file_state.h"
#include "symbol/opened.h"

#define HANG_NS	 (5 * NS_PER_S)	    /* beyond the time for reading */
#define KEPT_MAX (4u * 1024 * 1024) /* bytes, of all files' lines */
#define REST	 200		    /* times a reading's length */

/* A file's part of the job, which owns all of it. */
struct part {
	struct opening opening;	  /* of what is to be read */
	struct symbol_file *file; /* with a reference; NULL: it isn't known */
	uint64_t *addresses;	  /* that aren't known yet */
	size_t count;
	struct lines *lines;   /* that were read */
	bool whole, lacks;     /* the reader came to its end; there is nothing to read */
	struct lines **answer; /* the owner's */
};

struct finding {
	struct job job;
	struct symbol_files *files;
	struct part *parts;
	size_t count;
	unsigned limit_ms;
	bool reads; /* something is to be read */
	uint64_t took_ns;
	void (*done)(void *arg);
	void *arg;
};

static bool has_debug_info(const struct opened *opened, int shared)
{
	struct elf_image image;

	if (opened->debug_fd >= 0 || shared >= 0)
		return true;
	return elf_read(opened->fd, &image) < 0 || image.has_debug_info;
}

static void read_part(struct part *part, unsigned limit_ms)
{
	_cleanup_(opened_done) struct opened opened;
	struct debug_found found = {0};
	int r = opened_open(&opened, &part->opening, part->file->debugging_dir, &found);
	free(found.path);
	if (r < 0)
		return;
	_cleanup_close_ int shared =
		opened_open_shared(&opened, &part->opening, part->file->debugging_dir);
	part->lacks = !has_debug_info(&opened, shared);
	if (!part->lacks)
		lines_read(&part->lines, opened.debug_fd >= 0 ? opened.debug_fd : opened.fd, shared,
			   part->addresses, part->count, limit_ms, &part->whole);
}

static void run(struct job *job)
{
	struct finding *finding = (struct finding *)job;
	uint64_t began_ns = loop_now_ns(), end_ns = began_ns + finding->limit_ms * NS_PER_MS;

	for (size_t i = 0; i < finding->count; i++) {
		uint64_t now_ns = loop_now_ns();

		if (now_ns >= end_ns)
			break;
		/* half of what is left: one large file isn't to be the only one */
		if (finding->parts[i].count)
			read_part(&finding->parts[i],
				  (unsigned)((end_ns - now_ns) / 2 / NS_PER_MS) + 1);
	}
	finding->took_ns = loop_now_ns() - began_ns;
}

/* ---- what is kept, on the loop's thread ---- */

void files_forget_lines(struct symbol_files *files, struct symbol_file *file)
{
	if (file->lines)
		files->lines_bytes -= lines_bytes(file->lines);
	lines_free(TAKE_PTR(file->lines));
}

static void make_room(struct symbol_files *files)
{
	struct symbol_file **file;
	const struct file_id *id;

	if (files->lines_bytes <= KEPT_MAX)
		return;
	map_each (files->by_id, pos, id, file) {
		(void)id;
		files_forget_lines(files, *file);
	}
}

/* What was read is known besides what was known. */
static void keep(struct symbol_files *files, struct part *part)
{
	struct symbol_file *file = part->file;
	struct lines *joined;
	int r = lines_join(&joined, file->lines, part->lines, part->addresses,
			   part->whole ? part->count : 0);

	if (r == -ENOSPC) { /* it begins anew */
		files_forget_lines(files, file);
		joined = TAKE_PTR(part->lines);
		r = 0;
	}
	if (r < 0 || !joined)
		return;
	files_forget_lines(files, file);
	file->lines = joined;
	files->lines_bytes += lines_bytes(joined);
}

static void take_answer(struct symbol_files *files, struct part *part)
{
	if (!part->file)
		return;
	part->file->lacks_lines |= part->lacks;
	if (part->lines)
		keep(files, part);
	*part->answer = lines_ref(part->file->lines);
}

static void rest(struct symbol_files *files, uint64_t length_ns)
{
	uint64_t until_ns = loop_now_ns() + length_ns;

	if (until_ns > files->lines_rest_until_ns)
		files->lines_rest_until_ns = until_ns;
}

static void done(struct job *job, bool finished)
{
	struct finding *finding = (struct finding *)job;

	for (size_t i = 0; finished && i < finding->count; i++)
		take_answer(finding->files, &finding->parts[i]);
	make_room(finding->files);
	if (finding->reads)
		rest(finding->files,
		     REST * (finished ? finding->took_ns : finding->limit_ms * NS_PER_MS));
	finding->done(finding->arg);
}

static void free_finding(struct job *job)
{
	struct finding *finding = (struct finding *)job;

	for (size_t i = 0; finding->parts && i < finding->count; i++) {
		struct part *part = &finding->parts[i];

		if (part->count)
			opening_done(&part->opening);
		symbol_file_unref(part->file);
		free(part->addresses);
		lines_free(part->lines);
	}
	free(finding->parts);
	free(finding);
}

static int take_wish(struct part *part, const struct file_index *index,
		     const struct lines_wish *wish, bool read)
{
	static const struct symbol_place nowhere = {0};
	struct symbol_file *file = file_index_find(index, wish->module);

	part->answer = wish->lines;
	part->addresses = calloc(wish->count + 1, sizeof(*part->addresses));
	if (!part->addresses)
		return -ENOMEM;
	if (!file)
		return 0;
	part->file = symbol_file_ref(file);
	for (size_t i = 0; read && !file->lacks_lines && i < wish->count; i++) {
		if (!lines_has(file->lines, wish->addresses[i]))
			part->addresses[part->count++] = wish->addresses[i];
	}
	if (part->count && symbol_file_opening(file, &nowhere, &part->opening) < 0)
		part->count = 0;
	return 0;
}

int symbol_files_read_lines(struct symbol_files *files, struct worker *worker,
			    const struct lines_wish *wishes, size_t count, unsigned limit_ms,
			    bool sparing, void (*passed)(void *arg), void *arg)
{
	_cleanup_(file_index_done) struct file_index index = {0};
	struct finding *finding = calloc(1, sizeof(*finding));
	bool read = !sparing || loop_now_ns() >= files->lines_rest_until_ns;
	int r = finding ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	finding->job = (struct job){.run = run,
				    .done = done,
				    .free = free_finding,
				    .limit_ns = limit_ms * NS_PER_MS + HANG_NS};
	finding->files = files;
	finding->limit_ms = limit_ms;
	finding->done = passed;
	finding->arg = arg;
	finding->parts = calloc(count + 1, sizeof(*finding->parts));
	r = finding->parts ? file_index_make(&index, files) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < count; i++) {
		finding->count++;
		r = take_wish(&finding->parts[i], &index, &wishes[i], read);
		finding->reads |= finding->parts[i].count > 0;
	}
	if (r < 0) {
		free_finding(&finding->job);
		return r;
	}
	if (finding->reads) /* who comes meanwhile finds what is kept then */
		rest(files, limit_ms * NS_PER_MS);
	worker_submit(worker, &finding->job);
	return 0;
}
