// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/preload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/tracer_part.h"
#include "loop/loop.h"
#include "loop/worker.h"

#define OBJECTS_MAX 40		    /* of one job, and of all that wait to be taken */
#define KEPT_NS	    (10 * NS_PER_S) /* what nobody takes is unloaded then */

struct loaded_ahead {
	const struct loadable *which;
	void *bpf;
};

struct objects {
	struct loaded_ahead all[OBJECTS_MAX];
	size_t count;
};

/* Objects that are wanted, in the order in which they are loaded. */
struct wish {
	const struct loadable *all[OBJECTS_MAX];
	const struct bpf_object *first[OBJECTS_MAX]; /* struct load_from.first of each */
	size_t count;
};

/* Somebody who waits until his wish is loaded. */
struct preload_wait {
	struct preload_wait *next;
	struct wish wish;
	struct preload_job *job; /* for when it is the next to be served */
	void (*done)(void *arg);
	void *arg;
};

struct preload {
	struct tracer *tracer;
	struct worker *worker;
	struct objects ready;	      /* loaded, to be taken */
	struct loop_timer expiry;     /* of what is ready */
	struct preload_wait *waiting; /* for the next job */
	struct preload_wait *served;  /* by the job under way */
	bool is_loading, is_telling;  /* a job is under way; its done() are being called */
	struct objects retired;	      /* whose maps the job under way may share */
};

struct preload_job {
	struct job job;
	struct preload *preload; /* for done() alone */
	struct load_from from;
	struct wish wish;
	struct objects loaded;
};

static void add_object(struct objects *objects, const struct loadable *which, void *bpf)
{
	if (objects->count < OBJECTS_MAX)
		objects->all[objects->count++] = (struct loaded_ahead){which, bpf};
	else
		which->destroy(bpf);
}

/* Destroys them, the last one first: it may share maps of those before. */
static void destroy_objects(struct objects *objects)
{
	while (objects->count) {
		struct loaded_ahead *last = &objects->all[--objects->count];

		last->which->destroy(last->bpf);
	}
}

static bool is_ready(const struct preload *preload, const struct loadable *which)
{
	for (size_t i = 0; i < preload->ready.count; i++) {
		if (preload->ready.all[i].which == which)
			return true;
	}
	return false;
}

static void add_wish(struct wish *wish, const struct preload *preload, const struct loadable *which)
{
	if (which->is_loaded(preload->tracer) || is_ready(preload, which))
		return;
	for (size_t i = 0; i < wish->count; i++) {
		if (wish->all[i] == which)
			return;
	}
	if (wish->count == OBJECTS_MAX)
		return;
	wish->first[wish->count] = walkers_first(preload->tracer, which);
	wish->all[wish->count++] = which;
}

/* Lets an object go; it stays if the job under way may share its maps. */
static void let_go(struct preload *preload, const struct loadable *which, void *bpf)
{
	if (preload->is_loading && (which->shared_at || which->is_taken_over))
		add_object(&preload->retired, which, bpf);
	else
		which->destroy(bpf);
}

static void drop_ready(void *arg)
{
	struct preload *preload = arg;

	loop_timer_cancel(preload->tracer->loop, &preload->expiry);
	while (preload->ready.count) {
		const struct loaded_ahead *last = &preload->ready.all[--preload->ready.count];

		let_go(preload, last->which, last->bpf);
	}
}

/* Drops what is ready and may share the maps of this object. */
static void drop_sharers(struct preload *preload, const struct loadable *which)
{
	struct objects *ready = &preload->ready;
	size_t left = 0;

	if (which->shared_at) {
		drop_ready(preload);
		return;
	}
	for (size_t i = 0; i < ready->count; i++) {
		if (ready->all[i].which->takes_over_from == which)
			ready->all[i].which->destroy(ready->all[i].bpf);
		else
			ready->all[left++] = ready->all[i];
	}
	ready->count = left;
}

/* Notes an object whose maps others share. */
static void set_shared(struct load_from *from, const struct loadable *which, const void *bpf)
{
	if (which->shared_at)
		memcpy((char *)from + which->shared_at,
		       &(const struct bpf_object *){which->object(bpf)},
		       sizeof(const struct bpf_object *));
}

/* ---- the job ---- */

static void run_load(struct job *job)
{
	struct preload_job *mine = (struct preload_job *)job;

	for (size_t i = 0; i < mine->wish.count; i++) {
		const struct loadable *which = mine->wish.all[i];

		mine->from.first = mine->wish.first[i];
		void *bpf = which->load(&mine->from);

		if (bpf) {
			add_object(&mine->loaded, which, bpf);
			set_shared(&mine->from, which, bpf);
		} else if (which->shared_at) {
			return; /* the others need it */
		}
	}
}

/* Returns whether what the job loaded shares the maps of what is loaded now. */
static bool is_current(const struct preload_job *job)
{
	const struct preload *preload = job->preload;
	const struct tracer *tracer = preload->tracer;

	if (preload->retired.count)
		return false;
	for (size_t i = 0; i < job->loaded.count; i++) {
		if (job->loaded.all[i].which->is_loaded(tracer))
			return false; /* somebody didn't wait */
	}
	return true;
}

static void tell_served(struct preload *preload);
static void start_job(struct preload *preload);

static void load_done(struct job *job, bool finished)
{
	struct preload_job *mine = (struct preload_job *)job;
	struct preload *preload = mine->preload;

	preload->is_loading = false;
	if (finished && is_current(mine)) {
		for (size_t i = 0; i < mine->loaded.count; i++)
			add_object(&preload->ready, mine->loaded.all[i].which,
				   mine->loaded.all[i].bpf);
		mine->loaded.count = 0;
		loop_timer_set(preload->tracer->loop, &preload->expiry, loop_now_ns() + KEPT_NS);
	}
	destroy_objects(&mine->loaded);
	destroy_objects(&preload->retired);
	tell_served(preload);
	start_job(preload);
}

static void free_load(struct job *job)
{
	struct preload_job *mine = (struct preload_job *)job;

	destroy_objects(&mine->loaded);
	free(mine);
}

/* Fills in a job for all who are served. */
static void fill_job(struct preload *preload, struct preload_job *job)
{
	struct tracer *tracer = preload->tracer;

	*job = (struct preload_job){
		.job = {.run = run_load, .done = load_done, .free = free_load, .unlimited = true},
		.preload = preload,
		.from = {.tracer = tracer,
			 .life = tracer->life_object,
			 .sched = tracer->sched_object,
			 .runtimes = tracer->walkers.wanted | tracer->walkers.foreseen},
	};
	for (size_t i = 0; i < preload->ready.count; i++)
		set_shared(&job->from, preload->ready.all[i].which, preload->ready.all[i].bpf);
	for (const struct preload_wait *wait = preload->served; wait; wait = wait->next) {
		for (size_t i = 0; i < wait->wish.count; i++)
			add_wish(&job->wish, preload, wait->wish.all[i]);
	}
}

static void free_wait(struct preload_wait *wait)
{
	free(wait->job);
	free(wait);
}

static void tell_served(struct preload *preload)
{
	struct preload_wait *wait;

	preload->is_telling = true; /* who waits from now on is served by the next job */
	while ((wait = preload->served)) {
		preload->served = wait->next;
		wait->done(wait->arg);
		free_wait(wait);
	}
	preload->is_telling = false;
}

/* Begins a job for all who wait, unless one is under way. */
static void start_job(struct preload *preload)
{
	if (preload->is_loading || preload->is_telling || !preload->waiting)
		return;
	preload->served = preload->waiting;
	preload->waiting = NULL;
	struct preload_job *job = TAKE_PTR(preload->served->job);
	fill_job(preload, job);
	preload->is_loading = true;
	worker_submit(preload->worker, &job->job);
}

int tracer_load_ahead(struct tracer *tracer, struct worker *worker)
{
	struct preload *preload = calloc(1, sizeof(*preload));

	if (!preload)
		return -ENOMEM;
	*preload = (struct preload){.tracer = tracer, .worker = worker};
	preload->expiry =
		(struct loop_timer){.expired = drop_ready, .arg = preload, .name = "preload"};
	tracer->preload = preload;
	return 0;
}

bool tracer_preload(struct tracer *tracer, const struct loadable *const *const lists[],
		    size_t lists_count, void (*done)(void *arg), void *arg)
{
	struct preload *preload = tracer->preload;
	struct wish wish = {.count = 0};
	struct preload_wait *wait, **end;

	if (!preload)
		return false;
	for (size_t i = 0; i < lists_count; i++) {
		for (const struct loadable *const *each = lists[i]; each && *each; each++)
			add_wish(&wish, preload, *each);
	}
	wait = wish.count ? malloc(sizeof(*wait)) : NULL;
	if (!wait)
		return false;
	*wait = (struct preload_wait){
		.wish = wish, .job = malloc(sizeof(*wait->job)), .done = done, .arg = arg};
	if (!wait->job) {
		free_wait(wait);
		return false;
	}
	for (end = &preload->waiting; *end;)
		end = &(*end)->next;
	*end = wait;
	start_job(preload);
	return true;
}

static void forget_waits(struct preload_wait **at, const void *arg)
{
	while (*at) {
		struct preload_wait *wait = *at;

		if (wait->arg == arg) {
			*at = wait->next;
			free_wait(wait);
		} else {
			at = &wait->next;
		}
	}
}

void tracer_preload_forget(struct tracer *tracer, const void *arg)
{
	if (!tracer->preload)
		return;
	forget_waits(&tracer->preload->waiting, arg);
	forget_waits(&tracer->preload->served, arg);
}

void *preload_take(struct preload *preload, const struct loadable *which)
{
	for (size_t i = 0; preload && i < preload->ready.count; i++) {
		void *bpf = preload->ready.all[i].bpf;

		if (preload->ready.all[i].which != which)
			continue;
		preload->ready.count--;
		memmove(&preload->ready.all[i], &preload->ready.all[i + 1],
			(preload->ready.count - i) * sizeof(preload->ready.all[0]));
		return bpf;
	}
	return NULL;
}

void preload_retire(struct preload *preload, const struct loadable *which, void *bpf)
{
	if (!bpf)
		return;
	which->detach(bpf);
	if (!preload) {
		which->destroy(bpf);
		return;
	}
	drop_sharers(preload, which);
	let_go(preload, which, bpf);
}

static void free_waits(struct preload_wait *wait)
{
	while (wait) {
		struct preload_wait *next = wait->next;

		free_wait(wait);
		wait = next;
	}
}

void preload_free(struct preload *preload)
{
	if (!preload)
		return;
	preload->is_loading = false;
	drop_ready(preload);
	destroy_objects(&preload->retired);
	free_waits(preload->waiting);
	free_waits(preload->served);
	free(preload);
}
