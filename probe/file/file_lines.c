// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/file_lines.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "file/file_index.h"
#include "file/registry_parts.h"
#include "file/open_file.h"

#define HANG_NS	 (5 * NS_PER_S)	    /* a job's limit, in addition to the time for reading */
#define KEPT_MAX (4u * 1024 * 1024) /* bytes, of all files' lines */
#define REST	 200		    /* length of a rest: so many times a reading's length */

/* A file that is asked about, and where the answer goes. */
struct wanted_file {
	struct symbol_file *file; /* with a reference; NULL: unknown file */
	struct lines **answer;	  /* the caller's */
};

/* A request; each file that is read is a job of the file's user. */
struct lines_request {
	struct job job; /* does nothing; its lines_job_done() comes also where there is nothing to
			   read */
	atomic_uint refs;
	struct symbol_files *files;
	struct wanted_file *wanted;
	size_t count;
	size_t left; /* jobs that aren't done */
	unsigned limit_ms;
	atomic_uint_fast64_t end_ns; /* of reading; 0: reading hasn't begun */
	bool reads;		     /* at least one file is read */
	uint64_t took_ns;
	void (*done)(void *arg);
	void *arg;
};

/* The job that reads one file; it owns all that it touches. */
struct lines_job {
	struct job job;
	struct lines_request *finding; /* with a reference */
	struct lines_job *next;	       /* in a list until the job is submitted */
	struct open_request opening;   /* of the file */
	struct symbol_file *file;
	struct debug_found debug; /* a copy of the file's */
	struct hung_run *run_state;
	uint64_t *addresses; /* those that aren't in the cache */
	size_t count;
	struct lines *lines; /* the lines that were read */
	bool whole, lacks;   /* the reader came to its end; the file has no debug information */
	uint64_t took_ns;
};

static bool has_debug_info(const struct open_file *opened, int shared)
{
	struct elf_image image;

	if (opened->debug_fd >= 0 || shared >= 0)
		return true;
	return elf_read(opened->fd, &image) < 0 || image.has_debug_info;
}

static void read_part(struct lines_job *part, unsigned limit_ms)
{
	const char *debugging_dir = part->file->debugging_dir;
	_cleanup_(open_file_done) struct open_file opened;

	if (open_file_open_known(&opened, &part->opening, debugging_dir, &part->debug) < 0)
		return;
	_cleanup_close_ int shared = open_file_open_shared(&opened, &part->opening, debugging_dir);
	part->lacks = !has_debug_info(&opened, shared);
	if (!part->lacks)
		lines_read(&part->lines, opened.debug_fd >= 0 ? opened.debug_fd : opened.fd, shared,
			   part->addresses, part->count, limit_ms, &part->whole);
}

/* Returns when reading ends, for all jobs of a request; the first job begins that time. */
static uint64_t end_of(struct lines_request *finding, uint64_t now_ns)
{
	uint64_t begun = 0, end_ns = now_ns + finding->limit_ms * NS_PER_MS;

	return atomic_compare_exchange_strong(&finding->end_ns, &begun, end_ns) ? end_ns : begun;
}

static void lines_job_run(struct job *job)
{
	struct lines_job *part = (struct lines_job *)job;
	uint64_t now_ns = loop_now_ns(), end_ns = end_of(part->finding, now_ns);

	/* Half of the time that is left: one large file must not take all of it. */
	if (now_ns < end_ns)
		read_part(part, (unsigned)((end_ns - now_ns) / 2 / NS_PER_MS) + 1);
	part->took_ns = loop_now_ns() - now_ns;
}

static void run_nothing(struct job *job)
{
	(void)job;
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

/* Adds the lines that were read to the file's cached lines. */
static void keep_lines(struct symbol_files *files, struct lines_job *part)
{
	struct symbol_file *file = part->file;
	struct lines *joined;
	int r = lines_join(&joined, file->lines, part->lines, part->addresses,
			   part->whole ? part->count : 0);

	if (r == -ENOSPC) { /* the file's cache begins anew */
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

static void begin_rest(struct symbol_files *files, uint64_t length_ns)
{
	uint64_t until_ns = loop_now_ns() + length_ns;

	if (until_ns > files->lines_rest_until_ns)
		files->lines_rest_until_ns = until_ns;
}

static void one_less(struct lines_request *finding)
{
	struct symbol_files *files = finding->files;

	if (--finding->left)
		return;
	for (size_t i = 0; i < finding->count; i++) {
		const struct wanted_file *wanted = &finding->wanted[i];

		if (wanted->file)
			*wanted->answer = lines_ref(wanted->file->lines);
	}
	make_room(files);
	if (finding->reads)
		begin_rest(files, REST * finding->took_ns);
	finding->done(finding->arg);
}

static void nothing_done(struct job *job, bool finished)
{
	(void)finished;
	one_less((struct lines_request *)job);
}

static void lines_job_done(struct job *job, bool finished)
{
	struct lines_job *part = (struct lines_job *)job;
	struct lines_request *finding = part->finding;
	struct hung_file hung = open_request_hung_file(&part->opening);

	if (job->end == JOB_HANGS) /* perhaps in another file, the debug file */
		hung_fs_add(&finding->files->hung, &hung, job->end, part->run_state, true);
	finding->took_ns += finished ? part->took_ns : finding->limit_ms * NS_PER_MS;
	if (finished) {
		part->file->lacks_lines |= part->lacks;
		if (part->lines)
			keep_lines(finding->files, part);
	}
	one_less(finding);
}

static void finding_unref(struct lines_request *finding)
{
	if (atomic_fetch_sub(&finding->refs, 1) > 1)
		return;
	for (size_t i = 0; finding->wanted && i < finding->count; i++)
		symbol_file_unref(finding->wanted[i].file);
	free(finding->wanted);
	free(finding);
}

static void free_finding(struct job *job)
{
	finding_unref((struct lines_request *)job);
}

static void free_part(struct job *job)
{
	struct lines_job *part = (struct lines_job *)job;

	open_request_done(&part->opening);
	hung_run_end(part->run_state);
	symbol_file_unref(part->file);
	finding_unref(part->finding);
	free(part->debug.path);
	free(part->addresses);
	lines_free(part->lines);
	free(part);
}

static int part_new(struct lines_job **ret, struct lines_request *finding, struct symbol_file *file,
		    size_t count)
{
	struct lines_job *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	part->job.run = lines_job_run;
	part->job.done = lines_job_done;
	part->job.free = free_part;
	part->job.limit_ns = finding->limit_ms * NS_PER_MS + HANG_NS;
	part->finding = finding;
	atomic_fetch_add(&finding->refs, 1);
	part->file = symbol_file_ref(file);
	part->run_state = hung_run_new();
	part->addresses = calloc(count, sizeof(*part->addresses));
	if (!part->addresses || debug_found_copy(&part->debug, &file->debug) < 0) {
		free_part(&part->job);
		return -ENOMEM;
	}
	*ret = part;
	return 0;
}

/* Makes a job for the addresses that aren't cached; *ret = NULL if the file needn't or can't be
 * read. */
static int part_of(struct lines_job **ret, struct lines_request *finding, struct symbol_file *file,
		   const struct lines_wish *wish)
{
	static const struct symbol_place nowhere = {0};
	struct lines_job *part;

	*ret = NULL;
	if (file->lacks_lines || !wish->count)
		return 0;
	int r = part_new(&part, finding, file, wish->count);
	if (r < 0)
		return r;
	for (size_t i = 0; i < wish->count; i++) {
		if (!lines_has(file->lines, wish->addresses[i]))
			part->addresses[part->count++] = wish->addresses[i];
	}
	if (!part->count || symbol_file_opening(file, &nowhere, &part->opening) < 0) {
		free_part(&part->job);
		return 0;
	}
	struct hung_file hung = open_request_hung_file(&part->opening);
	part->job.whose = hung.whose;
	if (hung_fs_has(&finding->files->hung, &hung) == HUNG_HANGS)
		free_part(&part->job);
	else
		*ret = part;
	return 0;
}

static int take_wish(struct lines_request *finding, const struct file_index *index,
		     const struct lines_wish *wish, bool read, struct lines_job **parts)
{
	struct symbol_file *file = file_index_find(index, wish->module);
	struct wanted_file *wanted = &finding->wanted[finding->count++];
	struct lines_job *part = NULL;

	wanted->answer = wish->lines;
	wanted->file = file ? symbol_file_ref(file) : NULL;
	int r = file && read ? part_of(&part, finding, file, wish) : 0;
	if (!part)
		return r;
	part->next = *parts;
	*parts = part;
	finding->left++;
	finding->reads = true;
	return 0;
}

static void submit_parts(struct lines_request *finding, struct worker *worker,
			 struct lines_job *parts)
{
	if (finding->reads) /* sparing callers that come meanwhile get what is cached then */
		begin_rest(finding->files, finding->limit_ms * NS_PER_MS);
	while (parts) {
		struct lines_job *part = parts;

		parts = TAKE_PTR(part->next);
		worker_submit(worker, &part->job);
	}
	worker_submit(worker, &finding->job);
}

int symbol_files_read_lines(struct symbol_files *files, struct worker *worker,
			    const struct lines_wish *wishes, size_t count, unsigned limit_ms,
			    bool sparing, void (*passed)(void *arg), void *arg)
{
	_cleanup_(file_index_done) struct file_index index = {0};
	struct lines_request *finding = calloc(1, sizeof(*finding));
	bool read = !sparing || loop_now_ns() >= files->lines_rest_until_ns;
	struct lines_job *parts = NULL;
	int r = finding ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	finding->job = (struct job){.run = run_nothing, .done = nothing_done, .free = free_finding};
	finding->refs = finding->left = 1;
	finding->files = files;
	finding->limit_ms = limit_ms;
	finding->done = passed;
	finding->arg = arg;
	finding->wanted = calloc(count + 1, sizeof(*finding->wanted));
	r = finding->wanted ? file_index_make(&index, files) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = take_wish(finding, &index, &wishes[i], read, &parts);
	if (r == 0) {
		submit_parts(finding, worker, parts);
		return 0;
	}
	while (parts) {
		struct lines_job *part = parts;

		parts = TAKE_PTR(part->next);
		free_part(&part->job);
	}
	finding_unref(finding);
	return r;
}
