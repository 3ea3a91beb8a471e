// SPDX-License-Identifier: GPL-2.0-or-later
/* Jobs, each for one file: reading it, attaching points, detaching them. */
#include <elf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "proc/uprobe_site.h"
#include "alloc/allocators_state.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

#define CODE_BYTES 64
/* the kernel visits each process of the host for each point */
#define ATTACH_LIMIT_NS (60 * NS_PER_S)

struct work {
	struct job job;
	struct probed_file *probed; /* for the loop; run() doesn't touch it */
	struct symbol_file *file;   /* whose path `opening` has; NULL: the job needs no file */
	struct open_request opening;
	enum allocator_part part;

	struct read_facts read;

	struct uprobe_point points[ALLOCATOR_FUNCTIONS_MAX];
	size_t count;
	struct call_programs programs;
	struct uprobes *uprobes;
	int error;
	struct why why;
};

/* Opens the file and checks that it is unchanged. Returns it; the caller closes *own. */
static int open_file(struct work *work, int *own)
{
	_cleanup_close_ int root_fd = open_request_open_root(&work->opening);
	int fd = open_request_open(&work->opening, root_fd, own);
	int r = fd < 0 ? fd : open_request_check(&work->opening, fd);

	return r < 0 ? r : fd;
}

static uint64_t cookie_of(const struct allocator_function *function, uint64_t probed)
{
	int64_t from = (int64_t)(function->caller_address - probed);
	uint64_t call = COOKIE_CALL(function->call);

	if (function->call == CALL_REALLOC)
		return call | (function->null_is_malloc ? COOKIE_NULL_IS_MALLOC : 0);
	if (!function->caller_bytes || from != (int32_t)from ||
	    function->caller_bytes > COOKIE_BYTES_MAX)
		return call;
	return call | COOKIE_CALLER(from, function->caller_bytes);
}

static int read_points(int fd, struct file_facts *facts)
{
	for (size_t i = 0; i < facts->allocator.count; i++) {
		const struct allocator_function *function = &facts->allocator.functions[i];
		size_t bytes = function->bytes && function->bytes < CODE_BYTES
				       ? (size_t)function->bytes
				       : CODE_BYTES;
		struct uprobe_site site;
		uint8_t code[CODE_BYTES];

		int r = elf_pread(fd, code, bytes, function->file_offset);
		if (r < 0)
			return r;
		uprobe_site_find(code, bytes, function->arguments, &site);
		bool usable = site.emulated &&
			      (!site.pushed || !(1u << function->call & CALLS_RETURNING));
		facts->stepped[i] = !usable;
		facts->points[i] = (struct uprobe_point){
			.call = function->call,
			.offset = function->file_offset + (usable ? site.offset : 0),
			.cookie =
				cookie_of(function, function->address + (usable ? site.offset : 0)),
		};
	}
	return 0;
}

static int read_allocator(struct work *work, int fd)
{
	_cleanup_free_ struct elf_image *image = malloc(sizeof(*image));
	_cleanup_free_ struct file_facts *facts = calloc(1, sizeof(*facts));
	struct read_facts *read = &work->read;
	struct statfs status;

	if (!image || !facts)
		return -ENOMEM;
	int r = elf_read(fd, image);
	if (r == -ENOEXEC)
		return 0; /* data with code in it, or none that anybody runs here */
	if (r < 0)
		return r;
	read->is_go = image->is_go;
	read->is_static = !image->dynsym.symbols.bytes;
	read->has_symbols = image->symtab.symbols.bytes > 0;
	read->is_foreign = !image->wide || image->machine != MACHINE;
	read->is_overlay = fstatfs(fd, &status) == 0 && status.f_type == OVERLAYFS_SUPER_MAGIC;
	if (read->is_foreign)
		return 0;
	r = allocator_read(fd, image, &facts->allocator);
	if (r == 0)
		r = read_points(fd, facts);
	if (r == 0 && facts->allocator.count)
		read->facts = TAKE_PTR(facts);
	return r;
}

static void run_read(struct job *job)
{
	struct work *work = (struct work *)job;
	_cleanup_close_ int own = -1;
	int fd = open_file(work, &own);

	work->read.error = fd < 0 ? fd : read_allocator(work, fd);
}

static void run_attach(struct job *job)
{
	struct work *work = (struct work *)job;
	_cleanup_close_ int own = -1;
	int fd = open_file(work, &own);

	job_extend(job, ATTACH_LIMIT_NS);
	work->error = fd < 0 ? fd
			     : uprobes_open(&work->uprobes, fd, work->points, work->count,
					    &work->programs, &work->why);
	if (fd < 0)
		why_set(&work->why, "its file can't be opened: %s", strerror(-fd));
}

static void run_detach(struct job *job)
{
	struct work *work = (struct work *)job;

	uprobes_close(TAKE_PTR(work->uprobes));
}

static void read_done(struct job *job, bool finished)
{
	struct work *work = (struct work *)job;
	struct read_facts late = {.error = -ETIMEDOUT};

	if (finished)
		symbol_file_hold(work->file, &work->opening);
	probed_file_was_read(work->probed, finished ? &work->read : &late);
}

static void attach_done(struct job *job, bool finished)
{
	struct work *work = (struct work *)job;

	if (finished)
		symbol_file_hold(work->file, &work->opening);
	probed_file_was_attached(work->probed, work->part,
				 finished ? TAKE_PTR(work->uprobes) : NULL, work->programs.session,
				 finished ? work->error : -ETIMEDOUT,
				 finished ? work->why.text : "attaching took too long");
}

static void detach_done(struct job *job, bool finished)
{
	struct work *work = (struct work *)job;

	(void)finished; /* a job that never began is freed, and closes them then */
	probed_file_was_detached(work->probed, work->part);
}

/* Also of one that was given up, and attached after that. */
static void free_work(struct job *job)
{
	struct work *work = (struct work *)job;

	uprobes_close(work->uprobes);
	for (int i = 0; i < CALL_COUNT_OF; i++) {
		cleanup_close(&work->programs.fds[i]);
		cleanup_close(&work->programs.return_fds[i]);
	}
	cleanup_close(&work->programs.realloc_fd);
	if (work->file)
		open_request_done(&work->opening);
	symbol_file_unref(work->file);
	free(work->read.facts);
	free(work);
}

static struct work *work_new(struct probed_file *file, enum allocator_part part)
{
	struct work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->job.free = free_work;
	work->probed = file;
	work->part = part;
	work->programs.realloc_fd = -1;
	for (int i = 0; i < CALL_COUNT_OF; i++)
		work->programs.fds[i] = work->programs.return_fds[i] = -1;
	return work;
}

static int open_later(struct work *work)
{
	struct symbol_file *file = work->probed->file;
	int r = symbol_file_opening(file, &work->probed->place, &work->opening);

	if (r == 0)
		work->file = symbol_file_ref(file);
	return r;
}

static void submit_work(struct work *work)
{
	work->probed->busy = true;
	work->probed->allocators->working = true;
	worker_submit(work->probed->allocators->urgent, &work->job);
}

int work_read(struct probed_file *file)
{
	struct work *work = work_new(file, PART_HEAP);
	int r = work ? open_later(work) : -ENOMEM;

	if (r < 0) {
		if (work)
			free_work(&work->job);
		return r;
	}
	work->job.whose = work->opening.whose;
	work->job.run = run_read;
	work->job.done = read_done;
	submit_work(work);
	return 0;
}

int work_attach(struct probed_file *file, enum allocator_part part)
{
	struct work *work = work_new(file, part);
	int r = work ? open_later(work) : -ENOMEM;

	if (r == 0)
		r = tracer_call_programs(file->allocators->tracer, &work->programs);
	if (r < 0) {
		if (work)
			free_work(&work->job);
		return r;
	}
	for (size_t i = 0; i < file->facts->allocator.count; i++) {
		const struct uprobe_point *point = &file->facts->points[i];

		if (file->facts->allocator.functions[i].calls_inner && !work->programs.session)
			continue; /* what it calls counts */
		if (is_mapping(point->call) == (part == PART_MAPPINGS))
			work->points[work->count++] = *point;
	}
	work->job.whose = work->opening.whose;
	work->job.run = run_attach;
	work->job.done = attach_done;
	submit_work(work);
	return 0;
}

int work_detach(struct probed_file *file, enum allocator_part part)
{
	struct work *work = work_new(file, part);

	if (!work)
		return -ENOMEM;
	work->uprobes = TAKE_PTR(file->parts[part].uprobes);
	work->job.run = run_detach;
	work->job.done = detach_done;
	work->job.unlimited = true; /* it touches no file */
	submit_work(work);
	return 0;
}
