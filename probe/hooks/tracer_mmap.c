// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs for mmap() and its kin, a part of those for allocators (tracer_calls.c). */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "mmap.skel.h"
#include "mmap_native.skel.h"
#include "hooks/tracer_memory.h"
#include "hooks/hooks_state.h"

/* A session's program is called at entries and returns. */
static void choose_programs(const struct tracer *tracer, struct mmap_bpf *maps)
{
	struct bpf_program *program;
	int session = tracer->types.known.uprobe_session;

	maps->rodata->has_sessions = session != 0;
	if (session == 0)
		return;
	bpf_object__for_each_program(program, maps->obj)
	{
		bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)session);
	}
}

static int on_mapped(void *arg, void *data, size_t bytes)
{
	struct tracer *tracer = arg;

	if (tracer->events.mapped && bytes >= sizeof(struct mapped_event))
		tracer->events.mapped(tracer->events.arg, data);
	return 0;
}

static void mapped_ready(void *arg)
{
	const struct tracer *tracer = arg;

	tracer_ring_read(&tracer->mapped_ring);
}

LOADABLE_FUNCTIONS(mmap)
WALKING_OBJECT(mmap)

static struct mmap_bpf *open_mmap(const struct load_from *from, bool is_first)
{
	struct mmap_bpf *maps = open_walking_mmap(from);

	if (!maps)
		return NULL;
	choose_programs(from->tracer, maps);
	maps->rodata->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	tracer_set_stacks(maps);
	tracer_set_slot(maps, return_slot, is_first);
	return maps;
}

static void *load_mmap(const struct load_from *from)
{
	struct mmap_bpf *maps = open_mmap(from, true);

	if (!maps)
		return NULL;
	int r = tracer_share_maps(from->life, maps->obj);
	if (r == 0)
		r = mmap_bpf__load(maps);
	return tracer_loaded(&loadable_mmap, maps, r);
}

static bool has_mmap(const struct tracer *tracer)
{
	return tracer->maps;
}

const struct loadable loadable_mmap = {
	.load = load_mmap,
	LOADABLE_FIELDS(mmap),
	.is_loaded = has_mmap,
	.is_taken_over = true,
};

LOADABLE_AGAIN(mmap, mmap, open_mmap, on_return, return_slot, tracer->maps)

int tracer_mmap_load(struct tracer *tracer)
{
	struct mmap_bpf *maps = tracer_take(tracer, &loadable_mmap);

	if (!maps)
		return -errno;
	tracer->maps = maps;
	loaded_add(tracer, &(struct loaded){maps->obj, -1, NULL, NULL});
	walkers_add(tracer, &(struct walker){.which = &loadable_mmap_again,
					     .first = maps->obj,
					     .has = maps->rodata->runtimes_walked,
					     .take_over = take_over_mmap});
	return tracer_ring_watch(tracer, &tracer->mapped_ring, bpf_map__fd(maps->maps.mapped),
				 on_mapped, mapped_ready);
}

void tracer_mmap_unload(struct tracer *tracer)
{
	tracer_ring_unwatch(tracer, &tracer->mapped_ring);
	if (tracer->maps)
		loaded_remove(tracer, tracer->maps->obj, -1);
	walkers_remove(tracer, &loadable_mmap_again);
	preload_retire(tracer->preload, &loadable_mmap, TAKE_PTR(tracer->maps));
}

static int copy_program_fd(int *to, const struct bpf_program *program)
{
	*to = fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0);
	return *to < 0 ? -errno : 0;
}

int tracer_mmap_programs(const struct tracer *tracer, struct call_programs *programs)
{
	const struct mmap_bpf *maps = tracer->maps;
	int r = copy_program_fd(&programs->fds[CALL_MMAP], maps->progs.on_mmap);

	if (r == 0)
		r = copy_program_fd(&programs->fds[CALL_MUNMAP], maps->progs.on_munmap);
	if (r == 0)
		r = copy_program_fd(&programs->fds[CALL_MREMAP], maps->progs.on_mremap);
	for (enum call call = CALL_MMAP; call <= CALL_MREMAP && r == 0 && !programs->session;
	     call++)
		r = copy_program_fd(&programs->return_fds[call], maps->progs.on_return);
	return r;
}
