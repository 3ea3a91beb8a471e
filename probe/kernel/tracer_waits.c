// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two iterators: one shows waits that go on at each window's end (bpf/flush.bpf.c), one walks
 * blocked threads without a stack (bpf/waiting.bpf.c).
 */
#include "kernel/tracer_waits.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "loop/loop.h"
#include "bpf/shared/scheduler.h"
#include "flush.skel.h"
#include "kernel/tracer_part.h"
#include "waiting.skel.h"
#include "waiting_native.skel.h"

struct tracer_waits {
	struct flush_bpf *flush;
	struct waiting_bpf *waiting; /* NULL: the kernel can't */
	struct bpf_link *flush_link, *waiting_link;
	uint64_t unseen;
};

/* Shares the maps of `life` and `sched`. Returns 0 or a negative errno. */
static int share_both(const struct load_from *from, struct bpf_object *object)
{
	int r = tracer_share_maps(from->life, object);

	return r < 0 ? r : tracer_share_maps(from->sched, object);
}

LOADABLE_FUNCTIONS(flush)

static void *load_flush(const struct load_from *from)
{
	struct flush_bpf *flush = tracer_open(from->tracer, flush);

	if (!flush)
		return NULL;
	flush->rodata->has_task_storage = tracer_records_in_tasks(from->sched);
	int r = share_both(from, flush->obj);
	if (r == 0)
		r = flush_bpf__load(flush);
	return tracer_loaded(&loadable_flush, flush, r);
}

static bool has_waits(const struct tracer *tracer)
{
	return tracer->waits;
}

const struct loadable loadable_flush = {
	.load = load_flush,
	LOADABLE_FIELDS(flush),
	.is_loaded = has_waits,
};

LOADABLE_FUNCTIONS(waiting)
WALKING_OBJECT(waiting)

static void *load_waiting(const struct load_from *from)
{
	struct waiting_bpf *waiting = open_walking_waiting(from);

	if (!waiting)
		return NULL;
	waiting->rodata->has_task_storage = tracer_records_in_tasks(from->sched);
	waiting->rodata->kernel_frames_max = tracer_kernel_frames_max();
	int r = share_both(from, waiting->obj);
	if (r == 0)
		r = waiting_bpf__load(waiting);
	return tracer_loaded(&loadable_waiting, waiting, r);
}

const struct loadable loadable_waiting = {
	.load = load_waiting,
	LOADABLE_FIELDS(waiting),
	.is_loaded = has_waits,
};

static const struct loadable loadable_waiting_again;

static bool has_waiting_again(const struct tracer *tracer)
{
	return walkers_suffice(tracer, &loadable_waiting_again);
}

static const struct loadable loadable_waiting_again = {
	.load = load_waiting,
	LOADABLE_FIELDS(waiting),
	.is_loaded = has_waiting_again,
};

static int begin_flush(struct tracer *tracer, struct tracer_waits *waits)
{
	waits->flush = tracer_take(tracer, &loadable_flush);
	if (!waits->flush)
		return -errno;
	loaded_add(tracer, &(struct loaded){waits->flush->obj, -1, NULL, NULL, NULL});
	waits->flush_link = bpf_program__attach_iter(waits->flush->progs.flush_waits, NULL);
	return waits->flush_link ? 0 : -errno;
}

static int attach_waiting(struct tracer *tracer, struct tracer_waits *waits)
{
	loaded_add(tracer, &(struct loaded){waits->waiting->obj, -1, NULL, NULL, NULL});
	waits->waiting_link = bpf_program__attach_iter(waits->waiting->progs.walk_waiting, NULL);
	return waits->waiting_link ? 0 : -errno;
}

static void unload_waiting(struct tracer *tracer, struct tracer_waits *waits)
{
	if (!waits->waiting)
		return;
	loaded_remove(tracer, waits->waiting->obj, -1);
	bpf_link__destroy(waits->waiting_link);
	waits->waiting_link = NULL;
	waiting_bpf__destroy(waits->waiting);
	waits->waiting = NULL;
}

/* From the next look on; a look under way keeps what it runs. */
static int take_over_waiting(struct tracer *tracer, void *bpf)
{
	struct tracer_waits *waits = tracer->waits;

	unload_waiting(tracer, waits);
	waits->waiting = bpf;
	int r = attach_waiting(tracer, waits);
	if (r < 0)
		unload_waiting(tracer, waits);
	else
		walkers_run(tracer, &loadable_waiting_again,
			    waits->waiting->rodata->runtimes_walked);
	tracer_waits_set(tracer);
	return r;
}

static int begin_waiting(struct tracer *tracer, struct tracer_waits *waits)
{
	waits->waiting = tracer_take(tracer, &loadable_waiting);
	if (!waits->waiting)
		return -errno;
	int r = attach_waiting(tracer, waits);
	if (r == 0)
		walkers_add(tracer, &(struct walker){.which = &loadable_waiting_again,
						     .has = waits->waiting->rodata->runtimes_walked,
						     .take_over = take_over_waiting});
	return r;
}

int tracer_waits_load(struct tracer *tracer)
{
	struct tracer_waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return -ENOMEM;
	tracer->waits = waits;
	int r = begin_flush(tracer, waits);
	if (r < 0) {
		tracer_waits_unload(tracer);
		return r;
	}
	r = begin_waiting(tracer, waits);
	if (r < 0) {
		log_info("threads that wait already can't be walked, they are counted as "
			 "unseen_waits: the kernel's iterators can't sleep (since Linux 5.18)");
		unload_waiting(tracer, waits);
	}
	return 0;
}

void tracer_waits_unload(struct tracer *tracer)
{
	struct tracer_waits *waits = TAKE_PTR(tracer->waits);

	if (!waits)
		return;
	walkers_remove(tracer, &loadable_waiting_again);
	unload_waiting(tracer, waits);
	bpf_link__destroy(waits->flush_link);
	if (waits->flush)
		loaded_remove(tracer, waits->flush->obj, -1);
	flush_bpf__destroy(waits->flush);
	free(waits);
}

/* Copies the settings: each object has its own. */
static void copy_settings(const struct tracer *tracer)
{
	tracer->waits->flush->bss->sched = *tracer->settings;
	if (tracer->waits->waiting)
		tracer->waits->waiting->bss->sched = *tracer->settings;
}

void tracer_waits_set(struct tracer *tracer)
{
	if (!tracer->waits)
		return;
	tracer->settings->all_seen = tracer->waits->waiting != NULL;
	copy_settings(tracer);
}

static int open_iterator(const struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));

	return fd < 0 ? -errno : fd;
}

int tracer_iterate(int fd)
{
	char words[64]; /* the programs write none */
	ssize_t got;

	do {
		got = read(fd, words, sizeof(words));
	} while (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
	return got < 0 ? -errno : 0;
}

int tracer_waiting_open(const struct tracer *tracer)
{
	if (!tracer->waits || !tracer->waits->waiting || !tracer->settings->wait_states)
		return -ENOENT;
	return open_iterator(tracer->waits->waiting_link);
}

void tracer_waits_close(struct tracer *tracer, uint64_t window)
{
	if (tracer->waits && tracer->settings->wait_states)
		__atomic_store_n(&tracer->settings->closing, window + 1, __ATOMIC_SEQ_CST);
}

int tracer_waits_show(struct tracer *tracer)
{
	struct tracer_waits *waits = tracer->waits;

	if (!waits || !tracer->settings->closing)
		return -ENOENT;
	tracer->settings->cut_ns = loop_now_ns();
	copy_settings(tracer);
	waits->flush->bss->unseen_waits = 0;
	int fd = open_iterator(waits->flush_link);
	return fd == -ENOENT ? -EIO : fd;
}

void tracer_waits_shown(struct tracer *tracer, int error)
{
	struct tracer_waits *waits = tracer->waits;

	if (error < 0)
		log_error("waits that go on can't be shown: %s", strerror(-error));
	if (!waits)
		return;
	waits->unseen = waits->flush->bss->unseen_waits;
	__atomic_store_n(&tracer->settings->closing, 0, __ATOMIC_SEQ_CST);
	copy_settings(tracer);
}

uint64_t tracer_unseen_waits(const struct tracer *tracer)
{
	return tracer->waits ? tracer->waits->unseen : 0;
}
