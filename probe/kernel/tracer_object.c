// SPDX-License-Identifier: GPL-2.0-or-later
/* What every BPF object of the tracer needs before it is loaded. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "capability/seccomp_check.h"
#include "kernel/tracer_part.h"

int tracer_share_maps(const struct bpf_object *from, struct bpf_object *to)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, to)
	{
		const struct bpf_map *shared =
			bpf_object__find_map_by_name(from, bpf_map__name(map));

		if (!shared || bpf_map__is_internal(map))
			continue;
		if (!bpf_map__autocreate(shared)) {
			bpf_map__set_autocreate(map, false);
			continue;
		}
		int r = bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_own(const struct bpf_map *map)
{
	return bpf_map__type(map) == BPF_MAP_TYPE_PROG_ARRAY ||
	       strstr(bpf_map__name(map), ".rodata") != NULL;
}

int tracer_share_all(const struct bpf_object *from, struct bpf_object *to,
		     const struct bpf_program *program)
{
	struct bpf_program *each;
	struct bpf_map *map;
	int r = from ? 0 : -ENOENT;

	bpf_object__for_each_program(each, to)
	{
		bpf_program__set_autoload(each, each == program);
	}
	bpf_object__for_each_map(map, to)
	{
		const struct bpf_map *shared =
			from ? bpf_object__find_map_by_name(from, bpf_map__name(map)) : NULL;

		if (r < 0 || !shared || is_own(map))
			continue;
		r = bpf_map__autocreate(shared) ? bpf_map__reuse_fd(map, bpf_map__fd(shared))
						: bpf_map__set_autocreate(map, false);
	}
	return r;
}

const struct bpf_object_open_opts *tracer_options(struct tracer *tracer)
{
	struct tracer_types *types = &tracer->types;

	pthread_mutex_lock(&types->lock);
	if (types->fd < 0) {
		types->fd = ktypes_open(&types->known);
		snprintf(types->path, sizeof(types->path), "/proc/self/fd/%d", types->fd);
		types->options = (struct bpf_object_open_opts){
			.sz = sizeof(types->options),
			.btf_custom_path = types->path,
		};
	}
	int fd = types->fd;
	pthread_mutex_unlock(&types->lock);
	if (fd < 0)
		errno = -fd;
	return fd < 0 ? NULL : &types->options;
}

void tracer_choose_memory(const struct tracer *tracer, struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		uint32_t flags = bpf_map__map_flags(map);

		if (tracer->types.known.has_map_allocator || !(flags & BPF_F_NO_PREALLOC) ||
		    bpf_map__type(map) != BPF_MAP_TYPE_HASH)
			continue;
		bpf_map__set_map_flags(map, flags & ~(uint32_t)BPF_F_NO_PREALLOC);
		if (bpf_map__max_entries(map) > MAP_ALL_AT_ONCE)
			bpf_map__set_max_entries(map, MAP_ALL_AT_ONCE);
	}
}

const struct ktypes *tracer_ktypes(const struct tracer *tracer)
{
	return tracer->types.fd < 0 ? NULL : &tracer->types.known;
}

void *tracer_take(struct tracer *tracer, const struct loadable *which)
{
	const struct load_from from = {
		.tracer = tracer,
		.life = tracer->life_object,
		.sched = tracer->sched_object,
		.first = walkers_first(tracer, which),
		.runtimes = tracer->walkers.wanted | tracer->walkers.foreseen,
	};
	void *bpf = preload_take(tracer->preload, which);

	return bpf ? bpf : which->load(&from);
}

bool tracer_records_in_tasks(const struct bpf_object *sched)
{
	return bpf_map__autocreate(bpf_object__find_map_by_name(sched, "records"));
}

void *tracer_loaded(const struct loadable *which, void *bpf, int r)
{
	if (r == 0)
		return bpf;
	which->destroy(bpf);
	errno = -r;
	return NULL;
}

bool tracer_has_task_pt_regs(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, NULL) == 1;
}

uint32_t tracer_kernel_frames_max(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(32);

	if (file_read(AT_FDCWD, "/proc/sys/kernel/perf_event_max_stack", &text) < 0)
		return KERNEL_FRAMES_MAX;
	buf_char(&text, '\0');
	unsigned long max = buf_error(&text) ? 0 : strtoul(text.data, NULL, 10);
	return max && max < KERNEL_FRAMES_MAX ? (uint32_t)max : KERNEL_FRAMES_MAX;
}

void tracer_explain(struct why *why, int error, const char *what)
{
	bool refused = error == -EPERM || error == -EACCES;
	const char *calls = refused ? seccomp_calls() : NULL;
	const char *remedy = "";

	if (calls) {
		why_set(why, "%s: a filter of system calls (seccomp) refuses %s: %s", what, calls,
			strerror(-error));
		return;
	}
	if (refused)
		remedy = " (it needs root, or CAP_BPF and CAP_PERFMON)";
	else if (error == -ENOENT || error == -ESRCH)
		remedy = " (the kernel needs BTF: CONFIG_DEBUG_INFO_BTF)";
	why_set(why, "%s: %s%s", what, strerror(-error), remedy);
}
