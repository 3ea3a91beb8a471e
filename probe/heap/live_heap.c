// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/live_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/grow.h"
#include "base/log.h"
#include "container/container.h"
#include "heap/mm_epochs.h"
#include "heap/mmap_ranges.h"
#include "heap/live_snapshot.h"
#include "hooks/tracer_memory.h"
#include "target/who.h"
#include "kind/kind.h"

#define CUTS_MAX   65536
#define RANGES_MAX 262144
#define SWEEP_NS   (20 * NS_PER_S) /* between sweeps, beside readings asked for */
#define RINGS_NS   (5 * NS_PER_S)  /* events are read within this time */
#define SWEEPS_MAX 4		   /* submitted at a time; further ones become one, later */

static const struct stack_cache_limits ledger_limits = {
	.stacks = 256 * 1024, .nodes = 1024 * 1024, .name_bytes = 32 * 1024 * 1024};

struct live_heap {
	struct live_heap_setup setup;
	struct stack_cache *stack_cache; /* for jobs of the bulk worker */
	struct mm_epochs *epochs;
	struct mmap_ranges *mapped;
	bool running;
	bool keeps_ended; /* live_heap_keep_ended() */
	uint64_t since_ns;
	int64_t since;	  /* of loop_real_ns() */
	uint64_t read_ns; /* when the last reading was submitted */
	struct job clearing;
	bool clears, clears_again;
	unsigned sweeps; /* submitted, not done yet */
	bool sweeps_again;
	struct live_heap_stats stats;
};

struct heaps_job {
	struct job job;
	struct live_heap *live_heap;
	struct live_snapshot reading;
	void (*done)(void *arg, int error, struct profile *profiles[VIEWS]);
	void *arg;
};

int live_heap_new(struct live_heap **ret, const struct live_heap_setup *setup)
{
	struct live_heap *live_heap = calloc(1, sizeof(*live_heap));

	if (!live_heap)
		return -ENOMEM;
	live_heap->setup = *setup;
	int r = stack_cache_new(&live_heap->stack_cache, &ledger_limits);
	if (r == 0)
		r = mm_epochs_new(&live_heap->epochs, CUTS_MAX);
	if (r == 0)
		r = mmap_ranges_new(&live_heap->mapped, RANGES_MAX);
	if (r < 0) {
		live_heap_free(live_heap);
		return r;
	}
	*ret = live_heap;
	return 0;
}

void live_heap_free(struct live_heap *live_heap)
{
	if (!live_heap)
		return;
	stack_cache_free(live_heap->stack_cache);
	mm_epochs_free(live_heap->epochs);
	mmap_ranges_free(live_heap->mapped);
	free(live_heap);
}

struct stack_cache *live_heap_stack_cache(const struct live_heap *live_heap)
{
	return live_heap->stack_cache;
}

int64_t live_heap_since(const struct live_heap *live_heap)
{
	return live_heap->running ? live_heap->since : 0;
}

void live_heap_start(struct live_heap *live_heap, uint64_t since_ns)
{
	live_heap->running = true;
	live_heap->since = loop_real_ns();
	live_heap->since_ns = live_heap->read_ns = since_ns;
}

/* ---- what is known is forgotten, after the jobs that need it ---- */

static void clear_job_run(struct job *job)
{
	stack_cache_clear(CONTAINER_OF(job, struct live_heap, clearing)->stack_cache);
}

static void submit_clearing(struct live_heap *live_heap);

static void clear_job_done(struct job *job, bool finished)
{
	struct live_heap *live_heap = CONTAINER_OF(job, struct live_heap, clearing);

	live_heap->clears = false;
	if (!finished)
		log_error("memory: stacks of the run before can't be forgotten yet");
	if (live_heap->clears_again)
		submit_clearing(live_heap);
}

static void keep_job(struct job *job)
{
	(void)job; /* it is the heaps' own */
}

static void submit_clearing(struct live_heap *live_heap)
{
	live_heap->clears_again = live_heap->clears;
	if (live_heap->clears)
		return;
	live_heap->clears = true;
	live_heap->clearing = (struct job){
		.run = clear_job_run, .done = clear_job_done, .free = keep_job, .unlimited = true};
	worker_submit(live_heap->setup.bulk, &live_heap->clearing);
}

void live_heap_stop(struct live_heap *live_heap)
{
	live_heap->running = false;
	live_heap->stats.entries = live_heap->stats.unnamed = live_heap->stats.young = 0;
	mm_epochs_forget(live_heap->epochs, UINT64_MAX);
	mmap_ranges_clear(live_heap->mapped);
	submit_clearing(live_heap);
}

/* ---- events ---- */

/* Returns whether the process was a target under its name before, so that its frees were seen. */
static bool was_target(const struct live_heap *live_heap, const struct life_event *event)
{
	const struct targets *targets = live_heap->setup.targets;
	const struct target *before =
		target_table_find(targets_table(targets), event->tgid, event->old_id);

	return before && before->state != TARGET_REJECTED &&
	       (target_is_undecided(before) ||
		targets_subscribers(targets, before, kind_of_heap()));
}

void live_heap_keep_ended(struct live_heap *live_heap)
{
	live_heap->keeps_ended = true;
}

void live_heap_on_life(struct live_heap *live_heap, const struct life_event *event)
{
	bool ends = event->kind == LIFE_EXIT && !live_heap->keeps_ended;
	bool begins = event->kind == LIFE_EXEC || ends ||
		      (event->kind == LIFE_RENAME && !was_target(live_heap, event));

	if (!live_heap->running || !begins)
		return;
	mmap_ranges_cut(live_heap->mapped, event->tgid, event->time_ns);
	mm_epochs_note(live_heap->epochs, event->tgid,
		       event->time_ns); /* it counts what it refuses */
}

void live_heap_on_mapped(struct live_heap *live_heap, const struct mapped_event *event)
{
	if (live_heap->running)
		mmap_ranges_on_event(live_heap->mapped, event);
}

/* ---- readings ---- */

struct owner_listing {
	const struct live_heap *live_heap;
	const struct live_heap_request *request;
	struct live_snapshot *reading;
	size_t capacity;
	uint64_t asleep_ns; /* by which CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC */
	bool failed;
};

/* Returns when the process began, or an earlier time: the host may have slept since. */
static uint64_t began_ns(const struct owner_listing *listing, const struct target *target)
{
	uint64_t ns = target->start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));

	return ns > listing->asleep_ns ? ns - listing->asleep_ns : 0;
}

static uint64_t later_time(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static void list_target(void *arg, struct target *target)
{
	struct owner_listing *listing = arg;
	struct live_snapshot *reading = listing->reading;
	const struct live_heap *live_heap = listing->live_heap;
	int pid = listing->request->filter.pid;
	uint32_t wanting = targets_subscribers(live_heap->setup.targets, target, kind_of_heap());

	bool is_kept =
		live_heap->keeps_ended && target->state == TARGET_ENDED && !target->ended_by_exec;
	if ((!target_is_alive(target) && !is_kept) || (!wanting && !target_is_undecided(target)))
		return;
	if (array_grow(reading->owners, listing->capacity, reading->owners_count + 1, 64) < 0) {
		listing->failed = true;
		return;
	}
	struct live_owner *owner = &reading->owners[reading->owners_count++];
	*owner = (struct live_owner){
		.pid = (uint32_t)target->pid,
		.shown = wanting & listing->request->subscribers && (!pid || pid == target->pid),
		.since_ns = later_time(live_heap->since_ns,
				       mm_epochs_get(live_heap->epochs, (uint32_t)target->pid)),
		.who = who_of_target(target),
	};
	owner->since_ns = later_time(owner->since_ns, began_ns(listing, target));
	container_ref(owner->who.container);
}

static int compare_owners(const void *a, const void *b)
{
	const struct live_owner *left = a, *right = b;

	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static bool is_owner(void *arg, uint32_t pid)
{
	const struct live_snapshot *reading = arg;

	return live_owner_find(reading->owners, reading->owners_count, pid);
}

/* Lists the processes that are alive, and what they have mapped. */
static int list_owners(const struct live_heap *live_heap, const struct live_heap_request *request,
		       struct live_snapshot *reading)
{
	struct owner_listing listing = {
		.live_heap = live_heap, .request = request, .reading = reading};

	tracer_read_life(live_heap->setup.tracer); /* so that new processes are known */
	reading->listed_ns = clock_ns(CLOCK_MONOTONIC);
	listing.asleep_ns = clock_ns(CLOCK_BOOTTIME) - reading->listed_ns;
	target_table_each_ever(targets_table(live_heap->setup.targets), list_target, &listing);
	if (listing.failed)
		return -ENOMEM;
	if (reading->owners_count)
		qsort(reading->owners, reading->owners_count, sizeof(*reading->owners),
		      compare_owners);
	mmap_ranges_keep(live_heap->mapped, is_owner, reading, reading->listed_ns);
	int64_t mapped = mmap_ranges_list(live_heap->mapped, &reading->mapped);
	if (mapped < 0)
		return (int)mapped;
	reading->mapped_count = (size_t)mapped;
	return 0;
}

static void heaps_job_run(struct job *job)
{
	live_snapshot_run(&((struct heaps_job *)job)->reading);
}

static void count_snapshot(struct live_heap *live_heap, const struct live_snapshot *reading)
{
	struct live_heap_stats *stats = &live_heap->stats;

	stats->dead += reading->dead;
	stats->refused += reading->result.refused;
	stats->unrecorded += reading->result.unrecorded;
	if (reading->error < 0) {
		stats->failed++;
		log_error("what is allocated can't be read: %s", strerror(-reading->error));
		return;
	}
	if (!live_heap->running)
		return;
	stats->entries = reading->entries - reading->dead;
	if (reading->views) {
		stats->unnamed = reading->result.unknown;
		stats->young = reading->young;
	}
	if (reading->listed_ns > RINGS_NS)
		mm_epochs_forget(live_heap->epochs, reading->listed_ns - RINGS_NS);
}

static void sweep_ended(struct live_heap *live_heap)
{
	bool again = live_heap->sweeps_again;

	live_heap->sweeps--;
	live_heap->sweeps_again = false;
	if (again)
		live_heap_sweep(live_heap);
}

static void heaps_job_done(struct job *job, bool finished)
{
	struct heaps_job *read = (struct heaps_job *)job;

	if (!finished) /* no thread could be started */
		read->reading.error = -EAGAIN;
	count_snapshot(read->live_heap, &read->reading);
	if (read->done)
		read->done(read->arg, read->reading.error, read->reading.profiles);
	else
		sweep_ended(read->live_heap);
}

static void free_job(struct job *job)
{
	struct heaps_job *read = (struct heaps_job *)job;

	live_snapshot_done(&read->reading);
	free(read);
}

int live_heap_read(struct live_heap *live_heap, const struct live_heap_request *request)
{
	if (!live_heap->running)
		return -ENOENT;
	struct heaps_job *read = calloc(1, sizeof(*read));
	if (!read)
		return -ENOMEM;
	read->job = (struct job){
		.run = heaps_job_run, .done = heaps_job_done, .free = free_job, .unlimited = true};
	read->live_heap = live_heap;
	read->done = request->done;
	read->arg = request->arg;
	read->reading = (struct live_snapshot){
		.fd = tracer_held_fd(live_heap->setup.tracer),
		.views = request->views,
		.detail = request->detail,
		.filter = request->filter,
		.named_ns = request->named_ns,
		.from = request->from,
		.until = request->until,
		.stack_cache = live_heap->stack_cache,
	};
	memcpy(read->reading.lost, request->lost, sizeof(request->lost));
	int r = read->reading.fd < 0 ? read->reading.fd
				     : list_owners(live_heap, request, &read->reading);
	if (r < 0) {
		free_job(&read->job);
		return r;
	}
	live_heap->read_ns = read->reading.listed_ns;
	worker_submit(live_heap->setup.bulk, &read->job);
	return 0;
}

void live_heap_sweep(struct live_heap *live_heap)
{
	struct live_heap_request request = {0};

	if (!live_heap->running)
		return;
	if (live_heap->sweeps == SWEEPS_MAX)
		live_heap->sweeps_again = true;
	else if (live_heap_read(live_heap, &request) < 0)
		live_heap->stats.failed++;
	else
		live_heap->sweeps++;
}

void live_heap_window_ended(struct live_heap *live_heap)
{
	if (loop_now_ns() - live_heap->read_ns >= SWEEP_NS)
		live_heap_sweep(live_heap);
}

void live_heap_stats(const struct live_heap *live_heap, struct live_heap_stats *stats)
{
	struct mmap_ranges_stats mapped;

	*stats = live_heap->stats;
	stats->mm_epochs_refused = mm_epochs_refused(live_heap->epochs);
	stack_cache_stats(live_heap->stack_cache, &stats->stack_cache);
	mmap_ranges_stats(live_heap->mapped, &mapped);
	stats->ranges = mapped.ranges;
	stats->ranges_refused = mapped.refused;
}
