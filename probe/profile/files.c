// SPDX-License-Identifier: GPL-2.0-only
/*
 * For each picture: a job renders it, then a job writes its two files. Rendering never hangs;
 * writing may (a folder on NFS) and then is given up, with the rest.
 */
#include "profile/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "profile/kind.h"
#include "profile/render.h"

struct files {
	const struct files_setup *setup;
	struct profile *profile;
	struct params params;
	void (*done)(void *arg, const struct files_result *result);
	void *arg;
	struct files_result result;
	struct profile_process *processes; /* of multi_instance */
	size_t count, next;
};

static void step(struct files *files);

static void finish(struct files *files)
{
	files->done(files->arg, &files->result);
	profile_unref(files->profile);
	free(files->processes);
	free(files);
}

/* Writing one picture. Owns all it uses, for it may be given up. */
struct writing {
	struct job job;
	struct files *files;
	struct store_roots roots;
	struct params params;
	const char *probe;
	char comm[64];
	bool of_all;
	int pid;
	time_t until;
	struct buf svg, folded;
	int error;
	char stem[128];
};

static void writing_run(struct job *job)
{
	struct writing *writing = (struct writing *)job;
	struct store_entry entry = {
		.probe = writing->probe,
		.comm = writing->of_all ? NULL : writing->comm,
		.pid = writing->pid,
		.until = writing->until,
		.extension = ".svg",
		.latest = "latest.svg",
	};

	writing->error = store_write(&writing->roots, writing->params.svg_dir, &entry,
				     &writing->svg, writing->stem);
	if (writing->error)
		return;
	entry.extension = ".folded";
	entry.latest = NULL;
	writing->error = store_write(&writing->roots, writing->params.flame_dir, &entry,
				     &writing->folded, writing->stem);
}

static void writing_done(struct job *job, bool finished)
{
	struct writing *writing = (struct writing *)job;
	struct files *files = writing->files;

	if (!finished) {
		log_error("%s: writing below %s takes too long; this period's files are lost",
			  kind_get(files->profile->probe)->name, files->params.svg_dir);
		files->result.failed++;
		finish(files);
		return;
	}
	if (writing->error) {
		log_error("%s: a profile can't be written below %s or %s and is lost: %s",
			  writing->probe, writing->params.svg_dir, writing->params.flame_dir,
			  strerror(-writing->error));
		files->result.failed++;
	} else {
		log_info("%s: wrote %s.svg below %s", writing->probe, writing->stem,
			 writing->params.svg_dir);
		files->result.written++;
	}
	step(files);
}

static void writing_free(struct job *job)
{
	struct writing *writing = (struct writing *)job;

	buf_done(&writing->svg);
	buf_done(&writing->folded);
	free(writing);
}

static void rendered(void *arg, struct render *render)
{
	struct files *files = arg;
	struct writing *writing = NULL;

	if (render->error == 0 && render->total > 0)
		writing = calloc(1, sizeof(*writing));
	if (!writing) {
		if (render->error || render->total) {
			log_error("%s: a profile can't be rendered and is lost: %s",
				  kind_get(files->profile->probe)->name,
				  strerror(render->error ? -render->error : ENOMEM));
			files->result.failed++;
		}
		step(files);
		return;
	}
	writing->job = (struct job){.run = writing_run, .done = writing_done, .free = writing_free};
	writing->files = files;
	writing->roots = files->setup->roots;
	writing->params = files->params;
	writing->probe = kind_get(files->profile->probe)->name;
	writing->until = files->profile->until;
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
		.profile = files->profile,
		.node = files->params.multi_instance ? files->processes[files->next].node
						     : TREE_ROOT,
		.icicle = files->params.icicle,
		.host = files->setup->host,
		.outputs = {output_find("svg"), output_find("folded")},
		.done = rendered,
		.arg = files,
	};

	files->next++;
	return render_submit(files->setup->bulk, &question);
}

/* The next picture, or the end. */
static void step(struct files *files)
{
	if (files->next < files->count && render_next(files) == 0)
		return;
	files->result.failed += files->count - files->next;
	finish(files);
}

/* The list of processes is made on the bulk worker, for the tree is its own. */
struct listing {
	struct job job;
	struct files *files;
	int64_t count;
};

static void listing_run(struct job *job)
{
	struct listing *listing = (struct listing *)job;
	struct files *files = listing->files;

	listing->count = 1;
	if (files->params.multi_instance)
		listing->count = profile_processes(files->profile, &files->processes);
}

static void listing_done(struct job *job, bool finished)
{
	struct listing *listing = (struct listing *)job;
	struct files *files = listing->files;

	if (!finished || listing->count < 0) /* no thread, or no memory */
		files->result.failed++;
	else
		files->count = (size_t)listing->count;
	step(files);
}

static void listing_free(struct job *job)
{
	free(job);
}

int files_write(const struct files_setup *setup, struct profile *profile,
		const struct params *params,
		void (*done)(void *arg, const struct files_result *result), void *arg)
{
	struct files *files = calloc(1, sizeof(*files));
	struct listing *listing = calloc(1, sizeof(*listing));

	if (!files || !listing) {
		free(files);
		free(listing);
		return -ENOMEM;
	}
	files->setup = setup;
	files->profile = profile_ref(profile);
	files->params = *params;
	files->done = done;
	files->arg = arg;
	listing->files = files;
	listing->job = (struct job){
		.run = listing_run, .done = listing_done, .free = listing_free, .unlimited = true};
	worker_submit(setup->bulk, &listing->job);
	return 0;
}
