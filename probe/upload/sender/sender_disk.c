// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/sender/sender_disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LIST_LIMIT_NS (30 * NS_PER_S) /* enough for 100,000 names on a cold disk */

/* The part that jobs use; it lives until the last job has come back, perhaps longer than `disk`. */
struct disk_shared {
	unsigned users; /* references: the disk's and one for each job */
	unsigned jobs;	/* jobs that aren't freed yet */
	int claim;	/* descriptor of spool_claim(); -1: none yet */
	char folder[];
};

struct disk {
	struct disk_setup setup;
	struct disk_shared *shared;
	struct entry *first, **end; /* tasks that haven't begun */
	struct entry *current;	    /* the task that runs; NULL: none, or listing */
	struct loop_timer timer;
	bool wants_list, busy, out;
	bool taken; /* another process has the folder, and report_list() was told so */
};

struct task {
	struct job job;
	struct disk *disk; /* loop thread only */
	struct disk_shared *shared;
	enum body_state what; /* the entry's state; BODY_STATES: list the spool */
	struct spool_key key;
	bool maybe; /* the server may have the body */
	struct body *body;
	struct spool_list list;
	int result;
	bool given_up;
};

static void shared_unref(struct disk_shared *shared)
{
	if (__atomic_sub_fetch(&shared->users, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	cleanup_close(&shared->claim);
	free(shared);
}

/* ---- on the worker ---- */

/* Locks the folder before it is used. Returns 0 also if the folder doesn't exist yet. */
static int claim_folder(struct disk_shared *shared, bool make)
{
	if (shared->claim >= 0)
		return 0;
	int fd = spool_claim(shared->folder, make);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	shared->claim = fd;
	return 0;
}

static void run_task(struct job *job)
{
	struct task *task = (struct task *)job;
	const char *folder = task->shared->folder;

	task->result = claim_folder(task->shared, task->what == BODY_WRITING);
	if (task->result < 0)
		return;
	switch (task->what) {
	case BODY_WRITING:
		task->result = spool_write(folder, &task->key, task->body);
		break;
	case BODY_LOADING:
		task->result = spool_load(folder, &task->key, &task->body);
		break;
	case BODY_RETURNING:
		task->result = spool_mark_back(folder, &task->key, task->maybe);
		break;
	case BODY_REMOVING:
		task->result = spool_remove(folder, &task->key);
		break;
	default:
		task->result = spool_list(folder, &task->list);
	}
}

static void free_task(struct job *job)
{
	struct task *task = (struct task *)job;

	/* The task was given up, and the body is kept in memory: remove the file. */
	if (__atomic_load_n(&task->given_up, __ATOMIC_ACQUIRE) && task->what == BODY_WRITING &&
	    task->result == 0)
		(void)spool_remove(task->shared->folder, &task->key);
	body_unref(task->body);
	spool_list_done(&task->list);
	__atomic_sub_fetch(&task->shared->jobs, 1, __ATOMIC_RELEASE);
	shared_unref(task->shared);
	free(task);
}

/* ---- on the loop ---- */

static void begin_next(struct disk *disk);

static struct entry *take_first(struct disk *disk)
{
	struct entry *entry = disk->first;

	disk->first = entry->next_task;
	if (!disk->first)
		disk->end = &disk->first;
	entry->next_task = NULL;
	return entry;
}

/* Ends the tasks that can't wait until the disk answers again; the others stay. */
static void send_back(struct disk *disk)
{
	struct entry *all = disk->first;

	disk->first = NULL;
	disk->end = &disk->first;
	while (all) {
		struct entry *entry = all;

		all = entry->next_task;
		entry->next_task = NULL;
		if (entry->state == BODY_WRITING || entry->state == BODY_LOADING)
			disk->setup.ended(disk->setup.arg, entry, -ETIMEDOUT, NULL);
		else
			disk_add(disk, entry);
	}
}

static void pause_disk(struct disk *disk)
{
	loop_timer_set(disk->setup.loop, &disk->timer, loop_now_ns() + disk->setup.pause_ns);
}

/* Reports the list. While another process has the folder, it is listed again after a pause, and
 * reported once. */
static void report_list(struct disk *disk, const struct task *task)
{
	bool known = disk->taken;

	disk->taken = task->result == -EBUSY;
	if (disk->taken)
		pause_disk(disk);
	if (!disk->taken || !known)
		disk->setup.listed(disk->setup.arg, task->result, &task->list);
}

static void task_done(struct job *job, bool finished)
{
	struct task *task = (struct task *)job;
	struct disk *disk = task->disk;
	struct disk_setup *setup = &disk->setup;
	struct entry *entry = disk->current;

	disk->current = NULL;
	disk->busy = false;
	if (!finished) {
		__atomic_store_n(&task->given_up, true, __ATOMIC_RELEASE);
		disk->out = true;
		disk->wants_list |= task->what == BODY_STATES;
		pause_disk(disk);
		if (entry)
			setup->ended(setup->arg, entry, -ETIMEDOUT, NULL);
		send_back(disk);
		setup->changed(setup->arg);
		return;
	}
	if (!entry)
		report_list(disk, task);
	else if (task->what == BODY_LOADING && task->result == 0)
		setup->ended(setup->arg, entry, 0, TAKE_PTR(task->body));
	else
		setup->ended(setup->arg, entry, task->result, NULL);
	begin_next(disk);
}

static void begin_next(struct disk *disk)
{
	if (disk->busy || disk->out || (!disk->first && !disk->wants_list))
		return;
	struct task *task = calloc(1, sizeof(*task));
	if (!task) {
		pause_disk(disk);
		return;
	}
	*task = (struct task){
		.job = {.run = run_task, .done = task_done, .free = free_task},
		.disk = disk,
		.shared = disk->shared,
		.what = BODY_STATES,
		.result = -ECANCELED, /* until it has run */
	};
	disk->busy = true;
	if (disk->wants_list) {
		disk->wants_list = false;
		task->job.limit_ns = LIST_LIMIT_NS;
	} else {
		disk->current = take_first(disk);
		task->what = disk->current->state;
		task->key = disk->current->key;
		task->maybe = disk->current->maybe_stored;
		if (task->what == BODY_WRITING)
			task->body = body_ref(disk->current->body);
	}
	__atomic_add_fetch(&disk->shared->jobs, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&disk->shared->users, 1, __ATOMIC_RELAXED);
	worker_submit(disk->setup.foreign, &task->job);
}

static void pause_over(void *arg)
{
	struct disk *disk = arg;

	if (disk->out) {
		if (__atomic_load_n(&disk->shared->jobs, __ATOMIC_ACQUIRE) > 0) {
			pause_disk(disk);
			return;
		}
		disk->out = false;
		disk->setup.changed(disk->setup.arg);
	}
	disk->wants_list |= disk->taken;
	begin_next(disk);
}

int disk_new(struct disk **ret, const struct disk_setup *setup)
{
	size_t folder_bytes = strlen(setup->folder) + 1;
	_cleanup_free_ struct disk *disk = calloc(1, sizeof(*disk));
	struct disk_shared *shared = calloc(1, sizeof(*shared) + folder_bytes);

	if (!disk || !shared) {
		free(shared);
		return -ENOMEM;
	}
	shared->users = 1;
	shared->claim = -1;
	memcpy(shared->folder, setup->folder, folder_bytes);
	disk->setup = *setup;
	disk->setup.folder = shared->folder;
	disk->shared = shared;
	disk->end = &disk->first;
	disk->timer = (struct loop_timer){.expired = pause_over, .arg = disk, .name = "uploads"};
	*ret = TAKE_PTR(disk);
	return 0;
}

void disk_free(struct disk *disk)
{
	if (!disk)
		return;
	loop_timer_cancel(disk->setup.loop, &disk->timer);
	while (disk->first) {
		struct entry *entry = take_first(disk);

		if (entry->state == BODY_REMOVING) /* the queue doesn't have it */
			free(entry);
	}
	if (disk->current && disk->current->state == BODY_REMOVING)
		free(disk->current);
	shared_unref(disk->shared);
	free(disk);
}

void disk_list(struct disk *disk)
{
	disk->wants_list = true;
	begin_next(disk);
}

void disk_add(struct disk *disk, struct entry *entry)
{
	entry->next_task = NULL;
	*disk->end = entry;
	disk->end = &entry->next_task;
	begin_next(disk);
}

bool disk_take_back(struct disk *disk, struct entry *entry)
{
	for (struct entry **at = &disk->first; *at; at = &(*at)->next_task) {
		if (*at != entry)
			continue;
		*at = entry->next_task;
		if (!*at)
			disk->end = at;
		entry->next_task = NULL;
		return true;
	}
	return false;
}

bool disk_is_out(const struct disk *disk)
{
	return disk->out;
}

bool disk_is_idle(const struct disk *disk)
{
	return !disk->busy && !disk->first && !disk->wants_list;
}
