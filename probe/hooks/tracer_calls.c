// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs for calls of allocators, and of mmap() and its kin. alloc/uprobes.c attaches them. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "malloc.skel.h"
#include "malloc_native.skel.h"
#include "capability/uretprobe_check.h"
#include "hooks/tracer_memory.h"
#include "hooks/hooks_state.h"
#include "capability/trial.h"

#define PENDING_MAX 32768 /* threads, where the kernel has no task storage */

static const char failed[] = "the programs for allocators can't be loaded";

static bool has_helper(enum bpf_func_id helper)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, helper, NULL) == 1;
}

/* Keeps only one of the two maps of calls under way. */
static void choose_maps(const struct tracer *tracer, struct malloc_bpf *calls)
{
	struct finding finding;

	/* By a trial: a kernel may have the map but give no room. */
	trial_program(CAN_TASK_STORAGE, &finding);
	bool in_tasks = finding.state == FINDING_YES && has_helper(BPF_FUNC_task_storage_get);

	calls->rodata->has_task_storage = in_tasks;
	bpf_map__set_autocreate(calls->maps.calls_pending, in_tasks);
	bpf_map__set_autocreate(calls->maps.calls_by_tid, !in_tasks);
	bpf_map__set_max_entries(calls->maps.calls_by_tid, PENDING_MAX);
	bpf_map__set_max_entries(calls->maps.held, tracer->sizes.allocations);
	/* Without an allocator for them the kernel warns of allocations by programs. */
	if (!tracer->types.known.has_memory)
		bpf_map__set_map_flags(calls->maps.held, 0);
}

/* Of the programs of which a kernel needs one kind, keeps those for sessions or the others. */
static void keep_programs(const struct malloc_bpf *calls, bool has_sessions)
{
	struct bpf_program *const sessions[] = {
		calls->progs.on_new,
		calls->progs.on_rare,
		calls->progs.on_mapping,
	};
	struct bpf_program *const others[] = {
		calls->progs.on_aligned,	calls->progs.on_realloc_count,
		calls->progs.on_posix_memalign, calls->progs.on_realloc_alone,
		calls->progs.on_mmap,		calls->progs.on_munmap,
		calls->progs.on_mremap,		calls->progs.on_return,
		calls->progs.on_mapping_return,
	};

	for (size_t i = 0; i < ARRAY_SIZE(sessions); i++)
		bpf_program__set_autoload(sessions[i], has_sessions);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		bpf_program__set_autoload(others[i], !has_sessions);
}

/* A session's program is called at entries and returns. */
static void choose_programs(const struct tracer *tracer, struct malloc_bpf *calls)
{
	struct bpf_program *program;
	int session = tracer->types.known.uprobe_session;

	calls->rodata->has_sessions = session != 0;
	calls->rodata->has_cookies = has_helper(BPF_FUNC_get_attach_cookie);
	keep_programs(calls, session != 0);
	if (session == 0)
		return;
	bpf_object__for_each_program(program, calls->obj)
	{
		bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)session);
	}
}

/*
 * Returns the memory that can be had, swap included. 0: the kernel may refuse memory that there is
 * (vm.overcommit_memory is 2).
 */
static uint64_t memory_bytes(void)
{
	struct sysinfo info;
	char mode = '2';
	int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, &mode, 1) != 1)
			mode = '2';
		close(fd);
	}
	if (mode == '2')
		return 0;
	return sysinfo(&info) < 0 ? 0 : ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
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

LOADABLE_FUNCTIONS(malloc)
WALKING_OBJECT(malloc)

static struct malloc_bpf *open_calls(const struct load_from *from, bool is_first)
{
	struct malloc_bpf *calls = open_walking_malloc(from);

	(void)is_first; /* it needs no slot: the program that takes over replaces the first one */
	if (!calls)
		return NULL;
	choose_maps(from->tracer, calls);
	choose_programs(from->tracer, calls);
	calls->rodata->memory_bytes = memory_bytes();
	calls->rodata->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	tracer_set_stacks(calls);
	return calls;
}

static void *load_calls(const struct load_from *from)
{
	struct malloc_bpf *calls = open_calls(from, true);

	if (!calls)
		return NULL;
	int r = tracer_share_maps(from->life, calls->obj);
	if (r == 0)
		r = malloc_bpf__load(calls);
	return tracer_loaded(&loadable_malloc, calls, r);
}

static bool has_calls(const struct tracer *tracer)
{
	return tracer->calls;
}

const struct loadable loadable_malloc = {
	.load = load_calls,
	LOADABLE_FIELDS(malloc),
	.is_loaded = has_calls,
	.is_taken_over = true,
};

LOADABLE_AGAIN(malloc, malloc, open_calls, take_return, returning, tracer->calls)

const struct loadable *const calls_loads[] = {&loadable_malloc, NULL};

static void stop_calls(void *arg)
{
	tracer_calls_stop(arg);
}

static int begin_calls(struct tracer *tracer)
{
	struct malloc_bpf *calls = tracer_take(tracer, &loadable_malloc);

	if (!calls)
		return -errno;
	tracer->calls = calls;
	loaded_add(tracer, &(struct loaded){calls->obj, -1, stop_calls, tracer, NULL});
	walkers_add(tracer, &(struct walker){.which = &loadable_malloc_again,
					     .first = calls->obj,
					     .has = calls->rodata->runtimes_walked,
					     .take_over = take_over_malloc});
	return tracer_ring_watch(tracer, &tracer->mapped_ring, bpf_map__fd(calls->maps.mapped),
				 on_mapped, mapped_ready);
}

int tracer_calls(struct tracer *tracer, const struct calls_settings *settings, struct why *why)
{
	uint64_t sample_bytes = settings->sample_bytes;
	int r = tracer_start(tracer, why);

	if (r < 0)
		return r;
	if (uretprobes_are_safe() == 0) {
		why_set(why, "this kernel lets a filter of system calls (seccomp) end programs "
			     "whose returns are probed; boot Linux 6.14, or a 6.12 or 6.13 that "
			     "has it mended");
		return -EOPNOTSUPP;
	}
	r = tracer->calls ? 0 : begin_calls(tracer);
	if (r < 0) {
		tracer_explain(why, r, failed);
		tracer_calls_stop(tracer);
		return r;
	}
	if (sample_bytes > COUNTDOWN_MEAN_MAX)
		sample_bytes = COUNTDOWN_MEAN_MAX;
	__atomic_store_n(&tracer->calls->bss->keeps_age, settings->keeps_age, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tracer->calls->bss->sample_bytes, sample_bytes, __ATOMIC_SEQ_CST);
	return 0;
}

void tracer_calls_stop(struct tracer *tracer)
{
	tracer_ring_unwatch(tracer, &tracer->mapped_ring);
	if (tracer->calls)
		loaded_remove(tracer, tracer->calls->obj, -1);
	walkers_remove(tracer, &loadable_malloc_again);
	preload_retire(tracer->preload, &loadable_malloc, TAKE_PTR(tracer->calls));
}

static int copy_program_fd(int *to, const struct bpf_program *program)
{
	*to = fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0);
	return *to < 0 ? -errno : 0;
}

static void close_all(int fds[CALL_COUNT_OF])
{
	for (int i = 0; i < CALL_COUNT_OF; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

static int copy_all(const struct malloc_bpf *calls, struct call_programs *programs)
{
	bool session = programs->session;
	const struct bpf_program *rare = calls->progs.on_rare, *mapping = calls->progs.on_mapping;
	const struct bpf_program *const entries[CALL_COUNT_OF] = {
		[CALL_SIZE] = calls->progs.on_size,
		/* With all returns probed, its exceptions would not find their way. */
		[CALL_NEW] = session ? calls->progs.on_new : NULL,
		[CALL_COUNT] = calls->progs.on_count,
		[CALL_ALIGNED] = session ? rare : calls->progs.on_aligned,
		[CALL_REALLOC] = calls->progs.on_realloc,
		[CALL_REALLOC_COUNT] = session ? rare : calls->progs.on_realloc_count,
		[CALL_POSIX_MEMALIGN] = session ? rare : calls->progs.on_posix_memalign,
		[CALL_FREE] = calls->progs.on_free,
		[CALL_MMAP] = session ? mapping : calls->progs.on_mmap,
		[CALL_MUNMAP] = session ? mapping : calls->progs.on_munmap,
		[CALL_MREMAP] = session ? mapping : calls->progs.on_mremap,
	};
	int r = 0;

	for (int i = 0; i < CALL_COUNT_OF && r == 0; i++) {
		if (entries[i])
			r = copy_program_fd(&programs->fds[i], entries[i]);
		if (entries[i] && r == 0 && !programs->session && CALLS_RETURNING & 1U << i)
			r = copy_program_fd(&programs->return_fds[i],
					    CALLS_MAPPING & 1U << i ? calls->progs.on_mapping_return
								    : calls->progs.on_return);
	}
	if (r == 0 && !programs->session)
		r = copy_program_fd(&programs->realloc_fd, calls->progs.on_realloc_alone);
	return r;
}

int tracer_call_programs(const struct tracer *tracer, struct call_programs *programs)
{
	struct call_programs copies;

	if (!tracer->calls)
		return -ENOENT;
	memset(copies.fds, -1, sizeof(copies.fds));
	memset(copies.return_fds, -1, sizeof(copies.return_fds));
	copies.realloc_fd = -1;
	copies.session = tracer->calls->rodata->has_sessions;
	int r = copy_all(tracer->calls, &copies);
	if (r < 0) {
		close_all(copies.fds);
		close_all(copies.return_fds);
		cleanup_close(&copies.realloc_fd);
		return r;
	}
	*programs = copies;
	return 0;
}

int tracer_held_fd(const struct tracer *tracer)
{
	if (!tracer->calls)
		return -ENOENT;
	int fd = fcntl(bpf_map__fd(tracer->calls->maps.held), F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

uint32_t tracer_held_max(const struct tracer *tracer)
{
	return tracer->sizes.allocations;
}
