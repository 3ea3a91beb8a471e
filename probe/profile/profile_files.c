// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For each picture: a job renders it, then a job writes its two files. Rendering never hangs;
 * writing may (a folder on NFS), and is given up then, with the rest.
 */
#include "profile/profile_files.h"

#include <limits.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "profile/render.h"

struct files {
	const struct files_setup *setup;
	struct profile *profile;
	struct profile *plain; /* multi_instance: a copy without places, which the nodes are of */
	struct params params;
	bool before; /* files_write() */
	void (*done)(void *arg, const struct files_result *result);
	void *arg;
	struct files_result result;
	struct profile_process *processes; /* multi_instance */
	size_t count, next;
	uint64_t settled; /* weight written or lost so far */
};

static void continue_files(struct files *files);

const char *files_cause_name(enum files_cause cause)
{
	static const char *const names[] = {FILES_CAUSE_LIST(NAMED_NAME)};

	return names[cause];
}

/* Name used in its files and messages. */
static const char *folder_of(const struct files *files)
{
	return view_get(files->profile->probe, files->profile->view)->folder;
}

static enum files_cause cause_of(int error)
{
	switch (-error) {
	case ENOSPC:
	case EDQUOT:
		return FILES_NO_SPACE;
	case EROFS:
	case EACCES:
	case EPERM:
		return FILES_NOT_WRITABLE;
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
		return FILES_BAD_FOLDER;
	case EMFILE:
	case ENFILE:
		return FILES_NO_DESCRIPTORS;
	case ENOMEM:
	case EAGAIN:
		return FILES_NO_MEMORY;
	case ETIMEDOUT:
		return FILES_TIMEOUT;
	default:
		return FILES_OTHER;
	}
}

/* Counts profiles whose files are lost; the reason is logged at the end, once. */
__attribute__((format(printf, 5, 6))) static void
fail(struct files *files, uint64_t count, uint64_t weight, int error, const char *format, ...)
{
	struct files_result *result = &files->result;
	va_list args;

	result->failed += count;
	result->causes[cause_of(error)] += count;
	result->unwritten += weight;
	va_start(args, format);
	vsnprintf(result->last, sizeof(result->last), format, args);
	va_end(args);
}

static void finish_files(struct files *files)
{
	const struct files_result *result = &files->result;

	if (result->failed > 1)
		log_error("%s (%llu profiles are lost)", result->last,
			  (unsigned long long)result->failed);
	else if (result->failed)
		log_error("%s", result->last);
	files->done(files->arg, result);
	profile_unref(files->profile);
	profile_unref(files->plain);
	free(files->processes);
	free(files);
}

/* Gives up the rest of the profile. */
__attribute__((format(printf, 3, 4))) static void fail_rest(struct files *files, int error,
							    const char *format, ...)
{
	uint64_t count = files->count > files->next ? files->count - files->next + 1 : 1;
	uint64_t weight = files->profile->weight - files->settled;
	char why[256];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	fail(files, count, weight, error, "%s: %s; this period's files are lost", folder_of(files),
	     why);
	finish_files(files);
}

/* A job that writes one picture. It owns all it uses, as it may be given up. */
struct picture_job {
	struct job job;
	struct files *files;
	struct store_roots roots;
	struct params params;
	const char *probe;
	char comm[64];
	bool of_all, before;
	int pid;
	time_t until;
	uint64_t weight;
	struct buf svg, folded;
	int svg_error, folded_error;
	size_t svg_found, folded_found; /* see store_write() */
	char stem[128];
};

/* A folder without space doesn't stop the other one. */
static void writing_run(struct job *job)
{
	struct picture_job *writing = (struct picture_job *)job;
	struct store_entry entry = {
		.probe = writing->probe,
		.comm = writing->of_all ? NULL : writing->comm,
		.pid = writing->pid,
		.until = writing->until,
		.extension = ".svg",
		.latest = writing->before ? NULL : "latest.svg",
		.before = writing->before,
	};

	writing->svg_error = store_write(&writing->roots, writing->params.svg_dir, &entry,
					 &writing->svg, writing->stem, &writing->svg_found);
	entry.extension = ".folded";
	entry.latest = NULL;
	writing->folded_error =
		store_write(&writing->roots, writing->params.flame_dir, &entry, &writing->folded,
			    writing->stem, &writing->folded_found);
}

/* Makes the path of a file of this profile, as store_write() has it. */
static void path_written(const struct picture_job *writing, const char *folder,
			 const char *extension, char *path, size_t bytes)
{
	char safe[sizeof(writing->comm)] = "", instance[sizeof(safe) + 16] = "";

	if (!writing->of_all) {
		store_safe_name(writing->comm, safe, sizeof(safe));
		snprintf(instance, sizeof(instance), "/%s-%d", safe, writing->pid);
	}
	snprintf(path, bytes, "%s/%s%s/%.10s/%s%s", folder, writing->probe, instance, writing->stem,
		 writing->stem, extension);
}

static void log_written(const struct picture_job *writing)
{
	char svg[PATH_MAX], folded[PATH_MAX];

	path_written(writing, writing->params.svg_dir, ".svg", svg, sizeof(svg));
	path_written(writing, writing->params.flame_dir, ".folded", folded, sizeof(folded));
	log_info("%s: wrote %s and %s", writing->probe, svg, folded);
}

static void report_writing(struct files *files, const struct picture_job *writing)
{
	int error = writing->svg_error ? writing->svg_error : writing->folded_error;
	const char *folder =
		writing->svg_error ? writing->params.svg_dir : writing->params.flame_dir;
	const char *what = !writing->svg_error	   ? "folded text"
			   : writing->folded_error ? "picture and folded text"
						   : "picture";

	files->settled += writing->weight;
	if (writing->svg_found < files->result.svg_found)
		files->result.svg_found = writing->svg_found;
	if (writing->folded_found < files->result.flame_found)
		files->result.flame_found = writing->folded_found;
	if (!error) {
		log_written(writing);
		files->result.written++;
		return;
	}
	fail(files, 1, writing->weight, error,
	     "%s: a profile's %s can't be written below %s and is lost: %s", writing->probe, what,
	     folder, store_error_text(error));
}

static void writing_done(struct job *job, bool finished)
{
	struct picture_job *writing = (struct picture_job *)job;
	struct files *files = writing->files;

	if (!finished) {
		fail_rest(files, -ETIMEDOUT, "writing below %s takes too long",
			  files->params.svg_dir);
		return;
	}
	report_writing(files, writing);
	continue_files(files);
}

static void writing_free(struct job *job)
{
	struct picture_job *writing = (struct picture_job *)job;

	store_roots_done(&writing->roots);
	buf_done(&writing->svg);
	buf_done(&writing->folded);
	free(writing);
}

static void picture_rendered(void *arg, struct render *render)
{
	struct files *files = arg;
	struct picture_job *writing = NULL;

	if (render->error == 0 && render->total > 0)
		writing = calloc(1, sizeof(*writing));
	if (writing && store_roots_copy(&writing->roots, &files->setup->roots) < 0)
		free(TAKE_PTR(writing));
	if (!writing) {
		int error = render->error ? render->error : -ENOMEM;

		files->settled += render->total;
		if (render->error || render->total)
			fail(files, 1, render->total, error,
			     "%s: a profile can't be rendered and is lost: %s", folder_of(files),
			     strerror(-error));
		continue_files(files);
		return;
	}
	writing->job = (struct job){.run = writing_run, .done = writing_done, .free = writing_free};
	writing->files = files;
	writing->params = files->params;
	writing->probe = folder_of(files);
	writing->until = (time_t)(files->profile->until / (int64_t)NS_PER_S);
	writing->weight = render->total;
	writing->before = files->before;
	writing->of_all = !files->params.multi_instance;
	if (!writing->of_all) {
		const struct profile_process *process = &files->processes[files->next - 1];

		writing->pid = process->pid;
		snprintf(writing->comm, sizeof(writing->comm), "%s", process->comm);
	}
	writing->svg = render->content[0];
	writing->folded = render->content[1];
	render->content[0].data = render->content[1].data = NULL;
	worker_submit(files->setup->foreign, &writing->job);
}

static int render_next(struct files *files)
{
	struct render question = {
		.profile = files->plain ? files->plain : files->profile,
		.node = files->params.multi_instance ? files->processes[files->next].node
						     : TREE_ROOT,
		.icicle = files->params.icicle,
		.host = files->setup->host,
		.outputs = {output_find("svg"), output_find("folded")},
		.done = picture_rendered,
		.arg = files,
	};

	files->next++;
	return render_submit(files->setup->bulk, &question);
}

/* Goes on with the next picture, or ends. */
static void continue_files(struct files *files)
{
	int r = files->next < files->count ? render_next(files) : 1;

	if (r < 0)
		fail_rest(files, r, "profiles can't be rendered: %s", strerror(-r));
	else if (r > 0)
		finish_files(files);
}

/* A job of the bulk worker, which owns the tree, lists the processes. */
struct process_list_job {
	struct job job;
	struct files *files;
	int64_t count;
};

static void listing_run(struct job *job)
{
	struct process_list_job *listing = (struct process_list_job *)job;
	struct files *files = listing->files;

	listing->count = 1;
	if (!files->params.multi_instance)
		return;
	listing->count = render_copy(files->profile, false, &files->plain);
	if (listing->count == 0)
		listing->count = profile_processes(files->plain, &files->processes);
}

static void listing_done(struct job *job, bool finished)
{
	struct process_list_job *listing = (struct process_list_job *)job;
	struct files *files = listing->files;

	if (!finished || listing->count < 0) { /* not finished: no thread could be started */
		int error = finished ? (int)listing->count : -EAGAIN;

		fail_rest(files, error, "its processes can't be listed: %s", strerror(-error));
		return;
	}
	files->count = (size_t)listing->count;
	continue_files(files);
}

static void listing_free(struct job *job)
{
	free(job);
}

int files_write(const struct files_setup *setup, struct profile *profile,
		const struct params *params, bool before,
		void (*done)(void *arg, const struct files_result *result), void *arg)
{
	struct files *files = calloc(1, sizeof(*files));
	struct process_list_job *listing = calloc(1, sizeof(*listing));

	if (!files || !listing) {
		free(files);
		free(listing);
		return -ENOMEM;
	}
	files->setup = setup;
	files->profile = profile_ref(profile);
	files->params = *params;
	files->before = before;
	files->result.params = &files->params;
	files->result.svg_found = strlen(params->svg_dir);
	files->result.flame_found = strlen(params->flame_dir);
	files->done = done;
	files->arg = arg;
	listing->files = files;
	listing->job = (struct job){
		.run = listing_run, .done = listing_done, .free = listing_free, .unlimited = true};
	worker_submit(setup->bulk, &listing->job);
	return 0;
}
