// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files that have the paths of events, and whether they have points. A sweep looks at all
 * targets: soon after a change was reported, and once a second. One job runs at a time.
 */
#include "event/event_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "event/event_state.h"

#define SOON_NS	      NS_PER_MS
#define SWEEP_NS      NS_PER_S
#define IDLE_NS	      (2 * NS_PER_S) /* a file that no target maps any more keeps its points */

#define LONG_SWEEP_NS (5 * NS_PER_MS) /* of a sweep, at most: a longer one was interrupted */
#define REST	      20 /* a sweep is followed by this many times its length without one */
#define TRY_AGAIN_NS  (10 * NS_PER_S) /* what failed for want of memory, time or descriptors */

static struct event_slot *slot_of(struct event_files *files, enum probe probe)
{
	return &files->slots[probe - PROBE_SLOT_FIRST];
}

static bool any_runs(const struct event_files *files)
{
	for (size_t i = 0; i < PROBE_SLOTS_COUNT; i++) {
		if (files->slots[i].running)
			return true;
	}
	return false;
}

void event_files_wake(struct event_files *files, uint64_t at_ns)
{
	if (at_ns < files->rests_until_ns)
		at_ns = files->rests_until_ns;
	if (!files->timer.active || at_ns < files->timer.at_ns)
		loop_timer_set(files->loop, &files->timer, at_ns);
}

/* ---- files ---- */

static bool is_same_content(const struct open_request_id *a, const struct open_request_id *b)
{
	/* The time of status change isn't compared: it changes when a name is removed. */
	return a->bytes == b->bytes && a->modified_s == b->modified_s &&
	       a->modified_ns == b->modified_ns && a->inode == b->inode;
}

struct event_file *event_file_twin(const struct event_file *file)
{
	for (struct event_file *at = file->files->all; at; at = at->next) {
		if (at != file && at->probe == file->probe && at->epoch == file->epoch &&
		    at->uprobes && is_same_content(&at->content, &file->content))
			return at;
	}
	return NULL;
}

struct event_file *event_file_get(struct event_files *files, enum probe probe,
				  struct symbol_file *symbols, const struct symbol_place *place)
{
	const uint64_t epoch = slot_of(files, probe)->epoch;
	struct open_request opening;
	struct open_request_id content;

	if (symbol_file_opening(symbols, place, &opening) < 0)
		return NULL;
	open_request_identify(&content, &opening.stat);
	open_request_done(&opening);
	for (struct event_file *at = files->all; at; at = at->next) {
		if (at->probe == probe && at->epoch == epoch &&
		    at->content.device == content.device && is_same_content(&at->content, &content))
			return at;
	}
	struct event_file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	*file = (struct event_file){.next = files->all,
				    .files = files,
				    .probe = probe,
				    .epoch = epoch,
				    .content = content,
				    .file = symbol_file_ref(symbols),
				    .place = *place};
	files->all = file;
	return file;
}

static void file_free(struct event_file *file)
{
	uprobes_close(file->uprobes);
	symbol_file_unref(file->file);
	free(file);
}

/* Returns whether the file's points are wanted. */
static bool is_wanted(struct event_file *file)
{
	const struct event_slot *slot = slot_of(file->files, file->probe);

	return slot->running && slot->epoch == file->epoch &&
	       loop_now_ns() - file->seen_ns < IDLE_NS;
}

static void attach_file(struct event_file *file)
{
	struct event_files *files = file->files;
	int r = event_work_attach(file, files->urgent, slot_of(files, file->probe));

	if (r < 0) {
		file->state = EVENT_FILE_FAILED;
		file->error = r;
		why_set(&file->why, "its file can't be opened: %s", strerror(-r));
		return;
	}
	file->state = EVENT_FILE_BUSY;
	files->working = true;
}

static void detach_file(struct event_file *file)
{
	struct event_files *files = file->files;

	if (event_work_detach(file, files->urgent) < 0) {
		uprobes_close(TAKE_PTR(file->uprobes)); /* no memory for a job: at once */
		return;
	}
	file->state = EVENT_FILE_BUSY;
	files->working = true;
}

/* Returns whether points of another epoch than that of the slot are attached, or may be. */
static bool has_points_of_others(const struct event_files *files, size_t slot, uint64_t epoch)
{
	for (const struct event_file *at = files->all; at; at = at->next) {
		if (at->probe == PROBE_SLOT_FIRST + slot && at->epoch != epoch &&
		    (at->uprobes || at->state == EVENT_FILE_BUSY))
			return true;
	}
	return false;
}

/* Opens events of which no earlier points are left. */
static void open_events(struct event_files *files)
{
	for (size_t i = 0; i < PROBE_SLOTS_COUNT; i++) {
		struct event_slot *slot = &files->slots[i];

		if (!slot->opens || has_points_of_others(files, i, slot->epoch))
			continue;
		void (*opens)(void *arg) = TAKE_PTR(slot->opens);
		opens(slot->opens_arg);
	}
}

/* Tells those who wait that all points of an event are detached. */
static void tell_stopped(struct event_files *files)
{
	for (size_t i = 0; i < PROBE_SLOTS_COUNT; i++) {
		struct event_slot *slot = &files->slots[i];

		if (!slot->stopped || has_points_of_others(files, i, 0))
			continue;
		void (*stopped)(void *arg) = TAKE_PTR(slot->stopped);
		stopped(slot->stopped_arg);
	}
}

/* Returns whether an error may pass by itself. */
static bool is_passing(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ETIMEDOUT;
}

/* Begins the next job: what a target waits for comes first. */
static void begin_job(struct event_files *files)
{
	open_events(files);
	for (struct event_file *at = files->all; at && !files->working; at = at->next) {
		if (at->state == EVENT_FILE_FAILED && is_passing(at->error) &&
		    loop_now_ns() - at->failed_ns >= TRY_AGAIN_NS)
			at->state = EVENT_FILE_NEW;
		if (at->state == EVENT_FILE_NEW && is_wanted(at) &&
		    !slot_of(files, at->probe)->opens)
			attach_file(at);
	}
	for (struct event_file *at = files->all; at && !files->working; at = at->next) {
		if (at->state == EVENT_FILE_READY && !is_wanted(at))
			detach_file(at);
	}
	tell_stopped(files);
}

/* Frees files that nobody uses; the targets' lists are made anew. */
static void drop_files(struct event_files *files)
{
	for (struct event_file **link = &files->all; *link;) {
		struct event_file *file = *link;

		if (is_wanted(file) || file->uprobes || file->state == EVENT_FILE_BUSY) {
			link = &file->next;
			continue;
		}
		*link = file->next;
		for (struct event_file *at = files->all; at; at = at->next) {
			if (at->same == file) {
				at->same = NULL;
				at->state = EVENT_FILE_NEW;
			}
		}
		files->changes++;
		file_free(file);
	}
}

/* Has the costs measured that a slot needs, once: first those of entries. */
static void measure_costs(struct event_files *files, const struct event_slot *slot)
{
	bool returns = slot->with_return && files->were_measured[false];

	if (!files->measuring && !files->were_measured[returns] && slot->running)
		files->measuring = event_work_measure(files, files->urgent, slot->programs.session,
						      returns) == 0;
}

void event_costs_measured(struct event_files *files, bool returns, const struct point_costs *costs)
{
	files->measuring = false;
	files->were_measured[returns] = true;
	if (costs)
		files->costs = *costs;
	for (const struct event_file *at = files->all; at; at = at->next) {
		if (at->uprobes)
			measure_costs(files, slot_of(files, at->probe)); /* the others */
	}
}

void event_file_attached(struct event_file *file, const struct event_attached *result)
{
	struct event_files *files = file->files;

	files->working = false;
	file->uprobes = result->uprobes;
	file->stepped = result->stepped;
	if (file->uprobes)
		measure_costs(files, slot_of(files, file->probe));
	file->is_overlay = result->is_overlay;
	file->same = result->is_same ? event_file_twin(file) : NULL;
	file->error = result->error;
	file->state = result->error   ? EVENT_FILE_FAILED
		      : file->uprobes ? EVENT_FILE_READY
		      : file->same    ? EVENT_FILE_SAME
				      : EVENT_FILE_NEW;
	why_set(&file->why, "%s", result->why);
	file->failed_ns = loop_now_ns();
	if (file->error == -ESRCH)
		file->epoch = 0; /* another process may open it: it is looked for anew */
	begin_job(files);
	event_files_wake(files, loop_now_ns() + (file->error ? SWEEP_NS : 0));
}

void event_file_detached(struct event_file *file)
{
	struct event_files *files = file->files;

	files->working = false;
	file->state = EVENT_FILE_NEW; /* it is freed, or wanted again */
	begin_job(files);
	event_files_wake(files, loop_now_ns());
}

/* ---- sweeps ---- */

static void sweep_targets(void *arg)
{
	struct event_files *files = arg;
	uint64_t began_ns = loop_now_ns(), took_ns;

	if (any_runs(files)) {
		files->sweep++;
		for (size_t i = 0; i < PROBE_SLOTS_COUNT; i++) {
			files->slots[i].targets = files->slots[i].with_file = 0;
			files->slots[i].why.text[0] = '\0';
			files->slots[i].dirty = false;
		}
		event_targets_visit(files);
		took_ns = loop_now_ns() - began_ns;
		if (took_ns > LONG_SWEEP_NS)
			took_ns = LONG_SWEEP_NS;
		/* With thousands of targets that come and go, sweeps would take all the time. */
		files->rests_until_ns = loop_now_ns() + REST * took_ns;
		event_files_wake(files, loop_now_ns() + SWEEP_NS);
	}
	event_targets_drop(files, !any_runs(files));
	begin_job(files);
	drop_files(files);
}

/* ---- the door ---- */

int event_files_new(struct event_files **ret, struct loop *loop, struct worker *urgent,
		    struct targets *targets)
{
	struct event_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->loop = loop;
	files->urgent = urgent;
	files->targets = targets;
	files->costs = (struct point_costs)POINT_COSTS_ASSUMED;
	files->timer =
		(struct loop_timer){.expired = sweep_targets, .arg = files, .name = "events"};
	int r = event_targets_new(files);
	if (r < 0)
		free(files);
	else
		*ret = files;
	return r;
}

static void close_programs(struct event_slot *slot)
{
	if (!slot->epoch)
		return;
	cleanup_close(&slot->programs.fds[CALL_SIZE]);
	cleanup_close(&slot->programs.return_fds[CALL_SIZE]);
	slot->programs.fds[CALL_SIZE] = slot->programs.return_fds[CALL_SIZE] = -1;
}

void event_files_free(struct event_files *files)
{
	if (!files)
		return;
	loop_timer_cancel(files->loop, &files->timer);
	event_targets_free(files);
	while (files->all) {
		struct event_file *file = files->all;

		files->all = file->next;
		file_free(file);
	}
	for (size_t i = 0; i < PROBE_SLOTS_COUNT; i++)
		close_programs(&files->slots[i]);
	free(files);
}

void event_files_start(struct event_files *files, enum probe probe, const struct event_wish *wish)
{
	struct event_slot *slot = slot_of(files, probe);

	close_programs(slot);
	slot->programs = wish->programs;
	slot->event = *wish->event;
	slot->with_return = wish->with_return;
	slot->opens = wish->opens;
	slot->opens_arg = wish->arg;
	slot->epoch++;
	slot->running = slot->dirty = true;
	slot->stopped = NULL;
	files->changes++;
	event_files_wake(files, loop_now_ns());
}

void event_files_stop(struct event_files *files, enum probe probe, void (*stopped)(void *arg),
		      void *arg)
{
	struct event_slot *slot = slot_of(files, probe);

	slot->running = slot->dirty = false;
	slot->opens = NULL;
	slot->why.text[0] = '\0';
	slot->stopped = stopped;
	slot->stopped_arg = arg;
	close_programs(slot);
	begin_job(files);
}

void event_files_refresh(struct event_files *files)
{
	if (any_runs(files))
		event_files_wake(files, loop_now_ns() + SOON_NS);
}

void event_files_reselect(struct event_files *files)
{
	for (size_t i = 0; i < PROBE_SLOTS_COUNT; i++)
		files->slots[i].dirty = files->slots[i].running;
	event_files_refresh(files);
}

bool event_files_are_arming(const struct event_files *files)
{
	for (size_t i = 0; i < PROBE_SLOTS_COUNT; i++) {
		if (files->slots[i].dirty)
			return true;
	}
	for (const struct event_file *at = files->all; at; at = at->next) {
		const struct event_slot *slot = &files->slots[at->probe - PROBE_SLOT_FIRST];

		if (slot->running && slot->epoch == at->epoch &&
		    (at->state == EVENT_FILE_NEW || at->state == EVENT_FILE_BUSY))
			return true;
	}
	return event_targets_are_arming(files);
}

const char *event_files_why(const struct event_files *files, enum probe probe)
{
	const struct event_slot *slot = &files->slots[probe - PROBE_SLOT_FIRST];

	if (!slot->running || slot->dirty || slot->why.text[0])
		return slot->why.text;
	if (slot->targets && !slot->with_file)
		return "no target maps that file";
	return "";
}

struct hit_cost event_files_cost(const struct event_files *files, enum probe probe)
{
	const struct event_slot *slot = &files->slots[probe - PROBE_SLOT_FIRST];
	const struct point_costs *costs = &files->costs;
	bool stepped = false;

	for (const struct event_file *at = files->all; at; at = at->next)
		stepped |= at->probe == probe && at->epoch == slot->epoch && at->uprobes &&
			   at->stepped;
	return (struct hit_cost){costs->entry_ns[stepped],
				 slot->with_return ? costs->return_ns : 0};
}
