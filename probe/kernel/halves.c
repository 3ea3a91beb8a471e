// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/halves.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kernel/tracer_part.h"
#include "kernel/tracer_waits.h"

#define BY_RUN	    "run_halves"
#define BY_ITERATOR "renew_halves"

/* What renews the events of one object: a program to be run, or an iterator to be read. */
struct renewer {
	int fd;
	struct bpf_link *link; /* of the iterator; NULL: a program */
};

struct renewal {
	struct job job;
	void (*done)(void *arg);
	void *arg;
	struct renewer renewers[LOADED_MAX];
	size_t count;
	int error;
};

static bool has_for_each(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_for_each_map_elem,
				       NULL) == 1;
}

void halves_choose(struct bpf_object *object)
{
	struct bpf_program *by_run = bpf_object__find_program_by_name(object, BY_RUN);
	struct bpf_program *iterator = bpf_object__find_program_by_name(object, BY_ITERATOR);

	if (!by_run || !iterator)
		return;
	bpf_program__set_autoattach(by_run, false);
	bpf_program__set_autoattach(iterator, false);
	if (has_for_each())
		bpf_program__set_autoload(iterator, false);
	else
		bpf_program__set_autoload(by_run, false);
}

static int open_iterator(struct renewer *renewer, const struct bpf_object *object,
			 const struct bpf_program *program)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, "halves");
	union bpf_iter_link_info info = {.map.map_fd = map ? (uint32_t)bpf_map__fd(map) : 0};
	LIBBPF_OPTS(bpf_iter_attach_opts, options);

	options.link_info = &info;
	options.link_info_len = sizeof(info);
	renewer->link = bpf_program__attach_iter(program, &options);
	if (!renewer->link)
		return -errno;
	renewer->fd = bpf_iter_create(bpf_link__fd(renewer->link));
	if (renewer->fd >= 0)
		return 0;
	int r = -errno;
	bpf_link__destroy(renewer->link);
	return r;
}

/* Opens what renews an object's events. Returns 0, -ENOENT if it has no such events, or another
 * negative errno. */
static int open_renewer(struct renewer *renewer, const struct bpf_object *object)
{
	const struct bpf_program *by_run = bpf_object__find_program_by_name(object, BY_RUN);
	const struct bpf_program *iterator = bpf_object__find_program_by_name(object, BY_ITERATOR);

	*renewer = (struct renewer){.fd = -1};
	if (!by_run || !iterator)
		return -ENOENT;
	if (bpf_program__fd(by_run) < 0)
		return bpf_program__fd(iterator) < 0 ? -ENOENT
						     : open_iterator(renewer, object, iterator);
	renewer->fd = fcntl(bpf_program__fd(by_run), F_DUPFD_CLOEXEC, 0);
	return renewer->fd < 0 ? -errno : 0;
}

static int run_renewer(const struct renewer *renewer)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	if (renewer->link)
		return tracer_iterate(renewer->fd);
	return bpf_prog_test_run_opts(renewer->fd, &options) < 0 ? -errno : 0;
}

static void renewal_run(struct job *job)
{
	struct renewal *renewal = (struct renewal *)job;

	for (size_t i = 0; i < renewal->count; i++) {
		int r = run_renewer(&renewal->renewers[i]);

		renewal->error = r < 0 ? r : renewal->error;
	}
}

static void report_error(int error)
{
	if (error < 0)
		log_error("events that go on may lose their frames: %s", strerror(-error));
}

static void renewal_done(struct job *job, bool finished)
{
	struct renewal *renewal = (struct renewal *)job;

	if (!finished) /* no thread could be started */
		renewal_run(job);
	report_error(renewal->error);
	renewal->done(renewal->arg);
}

static void renewal_free(struct job *job)
{
	struct renewal *renewal = (struct renewal *)job;

	for (size_t i = 0; i < renewal->count; i++) {
		close(renewal->renewers[i].fd);
		bpf_link__destroy(renewal->renewers[i].link);
	}
	free(renewal);
}

static void open_renewers(struct renewal *renewal, const struct tracer *tracer)
{
	for (size_t i = 0; i < tracer->loaded_count; i++) {
		const struct bpf_object *object = tracer->loaded[i].object;
		int r = object ? open_renewer(&renewal->renewers[renewal->count], object) : -ENOENT;

		if (r == 0)
			renewal->count++;
		else if (r != -ENOENT)
			report_error(r);
	}
}

bool tracer_renew_halves(const struct tracer *tracer, struct worker *worker,
			 void (*done)(void *arg), void *arg)
{
	struct renewal *renewal = calloc(1, sizeof(*renewal));

	if (!renewal) {
		report_error(-ENOMEM);
		return false;
	}
	*renewal = (struct renewal){.job = {.run = renewal_run,
					    .done = renewal_done,
					    .free = renewal_free,
					    .unlimited = true},
				    .done = done,
				    .arg = arg};
	open_renewers(renewal, tracer);
	if (renewal->count) {
		worker_submit(worker, &renewal->job);
		return true;
	}
	renewal_free(&renewal->job);
	return false;
}
