// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/drain_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/trim.h"

#define WINDOW_NS	 (30 * NS_PER_S)
#define WINDOW_BYTES_MAX (64u * 1024 * 1024)
#define IDLE_FILES_KEPT	 256

static void begin_drain(struct drain *drain);

static void on_timer(void *arg)
{
	struct drain *drain = arg;

	drain->due = drain->busy; /* a drain may take long: VMs, files that hang */
	if (!drain->busy)
		begin_drain(drain);
}

static void on_early(void *arg)
{
	struct drain *drain = arg;

	drain->early_posted = false;
	if (drain->started && !drain->busy)
		begin_drain(drain);
}

int drain_new(struct drain **ret, const struct drain_setup *setup)
{
	struct drain *drain = calloc(1, sizeof(*drain));

	if (!drain)
		return -ENOMEM;
	drain->setup = *setup;
	drain->timer = (struct loop_timer){.expired = on_timer, .arg = drain, .name = "drain"};
	drain->early = (struct loop_call){.run = on_early, .arg = drain, .name = "drain"};
	pieces_init(&drain->pieces, setup->loop, "window", drain);
	int r = window_new(&drain->window, (size_t)setup->stacks_max * 2, WINDOW_BYTES_MAX);
	if (r == 0)
		r = window_counts_new(&drain->counts);
	if (r == 0)
		r = scheduler_frames_new(&drain->scheduler);
	if (r < 0) {
		drain_free(drain);
		return r;
	}
	*ret = drain;
	return 0;
}

static void free_waiters(struct waiter *waiter)
{
	while (waiter) {
		struct waiter *next = waiter->next;

		free(waiter);
		waiter = next;
	}
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	loop_timer_cancel(drain->setup.loop, &drain->timer);
	pieces_cancel(&drain->pieces);
	drain_free_naming(drain);
	free_waiters(drain->waiting);
	free_waiters(drain->serving);
	window_free(drain->window);
	window_counts_free(drain->counts);
	scheduler_frames_free(drain->scheduler);
	free(drain);
}

void drain_start(struct drain *drain)
{
	drain->started = true;
	drain->time = loop_real_ns();
	loop_timer_set(drain->setup.loop, &drain->timer, loop_now_ns() + WINDOW_NS);
}

void drain_stop(struct drain *drain)
{
	drain->started = false;
	loop_timer_cancel(drain->setup.loop, &drain->timer);
	drain->dropped = true;
	if (drain->counts)
		window_counts_clear(drain->counts);
	window_clear(drain->window, 0);
	window_clear(drain->window, 1);
}

void drain_soon(struct drain *drain)
{
	if (drain->early_posted || drain->busy)
		return;
	drain->early_posted = true;
	loop_post(drain->setup.loop, &drain->early);
}

/* Kernel frames are the leaf's. */
static bool has_kernel_frames(const struct stack *stack, const uint64_t *words)
{
	uint64_t kind = stack->words_count ? words[0] >> FRAME_KIND_SHIFT : FRAME_NATIVE;

	return kind == FRAME_KERNEL || kind == FRAME_KERNEL_RETURN;
}

#define SCHEDULER_FUNCTIONS 1024 /* a kernel has about 200 */

struct kernel_job {
	struct job job;
	struct drain *drain;
	/* functions of the scheduler */
	uint64_t starts[SCHEDULER_FUNCTIONS], end;
	size_t count;
};

static void kernel_run(struct job *job)
{
	struct kernel_job *reading = (struct kernel_job *)job;
	struct symbolizer *symbolizer = reading->drain->setup.symbolizer;

	symbolizer_read_kernel(symbolizer);
	reading->count =
		symbolizer_kernel_section(symbolizer, "__sched_text_start", "__sched_text_end",
					  reading->starts, SCHEDULER_FUNCTIONS, &reading->end);
}

static void kernel_done(struct job *job, bool finished)
{
	struct kernel_job *reading = (struct kernel_job *)job;

	if (finished)
		scheduler_frames_set(reading->drain->scheduler, reading->starts, reading->count,
				     reading->end);
}

static void kernel_free(struct job *job)
{
	free(job);
}

/* Has the kernel's names read ahead of the first window's end. Without memory naming reads them. */
static void read_kernel(struct drain *drain)
{
	struct kernel_job *reading = calloc(1, sizeof(*reading));

	drain->reads_kernel = true;
	if (!reading)
		return;
	*reading = (struct kernel_job){
		.job = {.run = kernel_run,
			.done = kernel_done,
			.free = kernel_free,
			.unlimited = true},
		.drain = drain,
	};
	worker_submit(drain->setup.bulk, &reading->job);
}

void drain_on_stack(struct drain *drain, const struct stack *stack, const uint64_t *words)
{
	uint64_t window = tracer_window(drain->setup.tracer);

	if (!drain->reads_kernel && has_kernel_frames(stack, words))
		read_kernel(drain);
	/* A stack without room is counted when its counts come: "stack_missing". */
	window_add(drain->window, stack, words);
	if (window_count(drain->window, window) > drain->setup.stacks_max / 4 * 3 ||
	    window_bytes(drain->window, window) > WINDOW_BYTES_MAX / 2)
		drain_soon(drain);
}

int64_t drain_time(const struct drain *drain)
{
	return drain->time;
}

uint64_t drain_ended_ns(const struct drain *drain)
{
	return drain->swapped_ns;
}

const struct drain_stats *drain_stats(const struct drain *drain)
{
	return &drain->stats;
}

static void tell_waiter(void *arg)
{
	struct waiter *waiter = arg;

	waiter->done(waiter->arg);
	free(waiter);
}

void drain_request(struct drain *drain, void (*done)(void *arg), void *arg)
{
	struct waiter *waiter = done ? calloc(1, sizeof(*waiter)) : NULL, **at = &drain->waiting;

	if (done && !waiter) {
		done(arg);
		return;
	}
	if (waiter) {
		*waiter = (struct waiter){
			.call = {.run = tell_waiter, .arg = waiter, .name = "drain"},
			.done = done,
			.arg = arg};
		while (*at)
			at = &(*at)->next;
		*at = waiter;
	}
	if (!drain->busy)
		begin_drain(drain);
}

void drain_keep_ended(struct drain *drain, uint64_t ns)
{
	drain->kept_ns = ns;
}

void drain_ended(struct drain *drain)
{
	drain->ends = drain->empties; /* else the kernel's maps aren't ready for the next window */
	if (drain->ends)
		return;
	window_clear(drain->window, drain->ended_window);
	for (int i = 0; i < CODES_KINDS; i++)
		code_cache_sweep(drain->setup.codes[i]);
	if (drain->started) {
		targets_sweep(drain->setup.targets, drain->swapped_ns - drain->kept_ns);
		symbol_files_trim(drain->setup.files, IDLE_FILES_KEPT);
	}
	trim_memory();
	drain->busy = false;
	for (struct waiter *waiter = TAKE_PTR(drain->serving); waiter;) {
		struct waiter *next = waiter->next;

		loop_post(drain->setup.loop, &waiter->call);
		waiter = next;
	}
	bool due = drain->due && drain->started;

	drain->due = false;
	if (drain->setup.ended(drain->setup.arg) || drain->waiting || due)
		begin_drain(drain);
}

void drain_window_began(struct drain *drain)
{
	drain->time = loop_real_ns();
	if (drain->started)
		loop_timer_set(drain->setup.loop, &drain->timer, drain->swapped_ns + WINDOW_NS);
}

void drain_lose(struct drain *drain, uint32_t of, enum loss where, uint64_t events)
{
	drain->stats.lost[of < PROBE_COUNT ? of : LOSERS_ALL][where] += events;
}

static void begin_drain(struct drain *drain)
{
	drain->busy = true;
	drain->serving = TAKE_PTR(drain->waiting);
	drain_read(drain);
}
