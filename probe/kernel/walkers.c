// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/walkers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/tracer_part.h"

#define TRIES_BESIDE 2 /* by the worker; then the loop loads it */
#define TRIES_MAX    3

static void start_loading(struct tracer *tracer);

static struct walker *walker_find(struct tracer *tracer, const struct loadable *which)
{
	for (size_t i = 0; i < tracer->walkers.count; i++) {
		if (tracer->walkers.all[i].which == which)
			return &tracer->walkers.all[i];
	}
	return NULL;
}

static bool walker_lacks(const struct tracer *tracer, const struct walker *walker)
{
	return walker->tries < TRIES_MAX && tracer->walkers.wanted & ~walker->has;
}

uint32_t walkers_needed(const struct load_from *from)
{
#ifdef __x86_64__
	return from->runtimes;
#else
	/* Before Linux 6.0 arm64 has no tail calls in programs with functions; nor walkers there.
	 */
	(void)from;
	return WALKS_ALL;
#endif
}

bool walkers_suffice(const struct tracer *tracer, const struct loadable *which)
{
	const struct walker *walker = walker_find((struct tracer *)tracer, which);

	return !walker || !walker_lacks(tracer, walker);
}

const struct bpf_object *walkers_first(const struct tracer *tracer, const struct loadable *which)
{
	const struct walker *walker = walker_find((struct tracer *)tracer, which);

	return walker ? walker->first : NULL;
}

bool tracer_awaits_walkers(const struct tracer *tracer)
{
	for (size_t i = 0; i < tracer->walkers.count; i++) {
		if (walker_lacks(tracer, &tracer->walkers.all[i]))
			return true;
	}
	return false;
}

/* ---- loading ---- */

/* Returns the object that was loaded; NULL: it has to be loaded again, or can't be. */
static void *take_loaded(struct tracer *tracer, struct walker *walker)
{
	void *bpf = walker->tries < TRIES_BESIDE ? preload_take(tracer->preload, walker->which)
						 : tracer_take(tracer, walker->which);

	if (bpf)
		return bpf;
	if (++walker->tries == TRIES_MAX)
		log_error("Python's or Java's frames aren't walked by a probe: its programs can't "
			  "be loaded again: %s",
			  strerror(errno));
	return NULL;
}

/* Returns whether the object took over. */
static bool change_program(struct tracer *tracer, struct walker *walker)
{
	void *bpf = take_loaded(tracer, walker);
	int r = bpf ? walker->take_over(tracer, bpf) : -ENOENT;

	if (bpf && r < 0) {
		walker->tries = TRIES_MAX;
		log_error("Python's or Java's frames aren't walked by a probe: its program can't "
			  "take over: %s",
			  strerror(-r));
	}
	return r == 0;
}

static void walkers_loaded(void *arg)
{
	struct tracer *tracer = arg;
	struct walkers *walkers = &tracer->walkers;
	bool changed = false;

	walkers->is_loading = false;
	for (size_t i = 0; i < walkers->count; i++) {
		if (walker_lacks(tracer, &walkers->all[i]))
			changed |= change_program(tracer, &walkers->all[i]);
	}
	start_loading(tracer);
	if (changed && tracer->events.walkers)
		tracer->events.walkers(tracer->events.arg);
}

/* Has what is lacking loaded by the worker, unless that is under way; what failed there twice is
 * loaded by the loop, as all is without a worker. */
static void start_loading(struct tracer *tracer)
{
	struct walkers *walkers = &tracer->walkers;
	const struct loadable *lacking[WALKERS_MAX + 1] = {NULL};
	const struct loadable *const *const lists[] = {lacking};
	size_t count = 0;

	if (walkers->is_loading || !tracer_awaits_walkers(tracer))
		return;
	walkers->is_loading = true;
	for (size_t i = 0; i < walkers->count; i++) {
		struct walker *walker = &walkers->all[i];

		if (!tracer->preload && walker->tries < TRIES_BESIDE)
			walker->tries = TRIES_BESIDE;
		if (walker_lacks(tracer, walker) && walker->tries < TRIES_BESIDE)
			lacking[count++] = walker->which;
	}
	if (!count || !tracer_preload(tracer, lists, 1, walkers_loaded, tracer))
		walkers_loaded(tracer);
}

void tracer_foresee_runtimes(struct tracer *tracer, uint32_t runtimes)
{
	tracer->walkers.foreseen = runtimes;
}

void tracer_walk_runtimes(struct tracer *tracer, uint32_t runtimes)
{
	if (!(runtimes & ~tracer->walkers.wanted))
		return;
	tracer->walkers.wanted |= runtimes;
	start_loading(tracer);
}

/* ---- hooks ---- */

void walkers_add(struct tracer *tracer, const struct walker *walker)
{
	struct walkers *walkers = &tracer->walkers;

	if (walkers->count == WALKERS_MAX) {
		log_error("more than %d BPF objects walk stacks: one has no more walkers",
			  WALKERS_MAX);
		return;
	}
	walkers->all[walkers->count] = *walker;
	walkers->all[walkers->count].tries = 0;
	walkers->all[walkers->count++].program_fd = -1;
	start_loading(tracer);
}

void walkers_remove(struct tracer *tracer, const struct loadable *which)
{
	struct walkers *walkers = &tracer->walkers;
	struct walker *walker = walker_find(tracer, which);

	if (!walker)
		return;
	if (walker->program_fd >= 0)
		close(walker->program_fd);
	*walker = walkers->all[--walkers->count];
}

void walkers_stop(struct tracer *tracer)
{
	tracer_preload_forget(tracer, tracer);
	tracer->walkers.is_loading = false;
	tracer->walkers.wanted = 0;
}

void walkers_run(struct tracer *tracer, const struct loadable *which, uint32_t has)
{
	struct walker *walker = walker_find(tracer, which);

	if (!walker)
		return;
	walker->has = has;
	walker->tries = 0;
	log_debug("a program with the walkers %#x takes the events over", has);
}

int walkers_fill(struct tracer *tracer, const struct loadable *which, int slot_fd,
		 const struct bpf_program *program, uint32_t has)
{
	struct walker *walker = walker_find(tracer, which);
	int fd = walker ? fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0) : -1;
	uint32_t zero = 0;

	if (fd < 0)
		return walker ? -errno : -ENOENT;
	if (bpf_map_update_elem(slot_fd, &zero, &fd, BPF_ANY) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	if (walker->program_fd >= 0)
		close(walker->program_fd);
	walker->program_fd = fd;
	walkers_run(tracer, which, has);
	return 0;
}
