// SPDX-License-Identifier: GPL-2.0-only
#include "profile/tracer_state.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "life.skel.h"
#include "profile/arena_map.h"
#include "profile/ktypes.h"
#include "profile/timer.h"
#include "sample.skel.h"
#include "packed.h"

#define GUARDS_BYTES (PROBE_COUNT * sizeof(struct guard))

/* libbpf's own words at debug level only: what fails is said once, by us. */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[512];

	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	if (level != LIBBPF_DEBUG)
		log_debug("libbpf: %s", line);
	return 0;
}

int tracer_new(struct tracer **ret, struct loop *loop, const struct tracer_sizes *sizes,
	       const struct tracer_events *events)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));

	if (!tracer)
		return -ENOMEM;
	libbpf_set_print(print_libbpf);
	tracer->loop = loop;
	tracer->sizes = *sizes;
	tracer->events = *events;
	tracer->late = (struct loop_timer){.expired = tracer_read_late, .arg = tracer};
	tracer->barrier_fd = -1;
	tracer->types_fd = -1;
	*ret = tracer;
	return 0;
}

void tracer_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	tracer_stop(tracer);
	if (tracer->types_fd >= 0)
		close(tracer->types_fd);
	free(tracer);
}

/* Maps of the same name are one map. */
static int share_maps(const struct bpf_object *from, struct bpf_object *to)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, to)
	{
		const struct bpf_map *shared =
			bpf_object__find_map_by_name(from, bpf_map__name(map));

		if (!shared || bpf_map__is_internal(map))
			continue;
		int r = bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (r < 0)
			return r;
	}
	return 0;
}

/* An array of maps with one map in it: updating it waits until no program runs that began before
 * (the kernel promises it for maps in maps), which is what a swap of windows needs. */
static int open_barrier(struct tracer *tracer)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);

	options.inner_map_fd = (uint32_t)bpf_map__fd(tracer->life->maps.control);
	tracer->barrier_fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "stackprobe_wait", 4, 4, 1, &options);
	return tracer->barrier_fd < 0 ? -errno : 0;
}

/* Tells libbpf where it finds the kernel's types. */
static int set_types(struct tracer *tracer, struct bpf_object_open_opts *options)
{
	if (tracer->types_fd < 0)
		tracer->types_fd = ktypes_open();
	if (tracer->types_fd < 0)
		return tracer->types_fd;
	snprintf(tracer->types_path, sizeof(tracer->types_path), "/proc/self/fd/%d",
		 tracer->types_fd);
	options->btf_custom_path = tracer->types_path;
	return 0;
}

/* How many chunks the arena may have. */
static uint32_t arena_chunks(const struct tracer *tracer)
{
	return tracer->sizes.tables_bytes / sizeof(struct chunk);
}

static int make_arena(struct tracer *tracer)
{
	struct arena_memory memory;
	int r = arena_map_new(&tracer->arena_map, bpf_map__fd(tracer->life->maps.arena),
			      arena_chunks(tracer));

	if (r < 0)
		return r;
	arena_map_memory(tracer->arena_map, &memory);
	return arena_new(&tracer->arena, &memory, tracer->sizes.tables_bytes);
}

static int load_life(struct tracer *tracer)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	int r = set_types(tracer, &options);

	if (r < 0)
		return r;
	tracer->life = life_bpf__open_opts(&options);
	if (!tracer->life)
		return -errno;
	bpf_map__set_max_entries(tracer->life->maps.targets, tracer->sizes.targets);
	bpf_map__set_max_entries(tracer->life->maps.life, tracer->sizes.life_ring);
	bpf_map__set_max_entries(tracer->life->maps.arena, arena_chunks(tracer));
	r = life_bpf__load(tracer->life);
	if (r < 0)
		return r;
	int control_fd = bpf_map__fd(tracer->life->maps.control);
	void *shared = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED,
			    control_fd, 0);
	if (shared == MAP_FAILED)
		return -errno;
	tracer->control = shared;
	tracer->control->hash_seed = hash_seed();
	tracer->control->window = tracer->next_window;
	tracer->control->budget_ppm = tracer->budget_ppm;
	r = make_arena(tracer);
	if (r == 0)
		r = open_barrier(tracer);
	if (r < 0)
		return r;
	r = tracer_watch_life(tracer, bpf_map__fd(tracer->life->maps.life));
	return r < 0 ? r : life_bpf__attach(tracer->life);
}

static void explain(char *why, size_t bytes, int error, const char *what)
{
	const char *remedy = "";

	if (error == -EPERM || error == -EACCES)
		remedy = " (it needs root, or CAP_BPF and CAP_PERFMON)";
	else if (error == -ENOENT || error == -ESRCH)
		remedy = " (the kernel needs BTF: CONFIG_DEBUG_INFO_BTF)";
	snprintf(why, bytes, "%s: %s%s", what, strerror(-error), remedy);
}

int tracer_start(struct tracer *tracer, char *why, size_t why_bytes)
{
	if (tracer->life)
		return 0;
	int r = load_life(tracer);
	if (r < 0) {
		explain(why, why_bytes, r, "the programs that follow processes can't be loaded");
		tracer_stop(tracer);
	}
	return r;
}

static void unload_sample(struct tracer *tracer)
{
	tracer_unwatch_stacks(tracer);
	if (tracer->guards)
		munmap((void *)tracer->guards, GUARDS_BYTES);
	tracer->guards = NULL;
	sample_bpf__destroy(tracer->sample);
	tracer->sample = NULL;
	free(TAKE_PTR(tracer->keys));
	free(TAKE_PTR(tracer->counts));
}

void tracer_stop(struct tracer *tracer)
{
	tracer_counters(tracer, &tracer->before);
	timer_free(tracer->timer);
	tracer->timer = NULL;
	tracer_unwatch_life(tracer);
	unload_sample(tracer);
	if (tracer->control) {
		/* Two on, so that the first new window doesn't lie where the last one may still be
		 * read. */
		tracer->next_window = tracer->control->window + 2;
		munmap(tracer->control, sizeof(struct control));
	}
	tracer->control = NULL;
	if (tracer->barrier_fd >= 0)
		close(tracer->barrier_fd);
	tracer->barrier_fd = -1;
	arena_free(tracer->arena);
	tracer->arena = NULL;
	arena_map_free(tracer->arena_map);
	tracer->arena_map = NULL;
	life_bpf__destroy(tracer->life);
	tracer->life = NULL;
}

static bool has_task_pt_regs(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, NULL) == 1;
}

/* How many frames of its own the kernel's walk gives at most. */
static uint32_t kernel_frames_max(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(32);

	if (file_read(AT_FDCWD, "/proc/sys/kernel/perf_event_max_stack", &text) < 0)
		return KERNEL_FRAMES_MAX;
	buf_char(&text, '\0');
	unsigned long max = buf_error(&text) ? 0 : strtoul(text.data, NULL, 10);
	return max && max < KERNEL_FRAMES_MAX ? (uint32_t)max : KERNEL_FRAMES_MAX;
}

static int map_guards(struct tracer *tracer)
{
	void *guards = mmap(NULL, GUARDS_BYTES, PROT_READ, MAP_SHARED,
			    bpf_map__fd(tracer->sample->maps.guards), 0);

	if (guards == MAP_FAILED)
		return -errno;
	tracer->guards = guards;
	return 0;
}

static int load_sample(struct tracer *tracer)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	int r = set_types(tracer, &options);

	if (r < 0)
		return r;
	struct sample_bpf *sample = sample_bpf__open_opts(&options);
	tracer->sample = sample;
	if (!sample)
		return -errno;
	bpf_map__set_max_entries(sample->maps.counts_even, tracer->sizes.stacks);
	bpf_map__set_max_entries(sample->maps.counts_odd, tracer->sizes.stacks);
	bpf_map__set_max_entries(sample->maps.stacks, tracer->sizes.stack_ring);
	sample->rodata->kernel_frames_max = kernel_frames_max();
	sample->rodata->has_task_pt_regs = has_task_pt_regs();
	tracer->keys = calloc(tracer->sizes.stacks, sizeof(*tracer->keys));
	tracer->counts = calloc(tracer->sizes.stacks, sizeof(*tracer->counts));
	if (!tracer->keys || !tracer->counts)
		return -ENOMEM;
	r = share_maps(tracer->life->obj, sample->obj);
	if (r == 0)
		r = sample_bpf__load(sample);
	if (r == 0)
		r = map_guards(tracer);
	if (r == 0)
		r = tracer_watch_stacks(tracer, bpf_map__fd(sample->maps.stacks));
	if (r == 0)
		r = timer_new(&tracer->timer, tracer->loop, sample->progs.sample);
	return r;
}

int tracer_load(struct tracer *tracer, char *why, size_t why_bytes)
{
	if (tracer->sample)
		return 0;
	int r = load_sample(tracer);
	if (r < 0) {
		explain(why, why_bytes, r, "the sampling program can't be loaded");
		unload_sample(tracer);
	}
	return r;
}

int tracer_sample(struct tracer *tracer, uint64_t period_ns, char *why, size_t why_bytes)
{
	int r = tracer_load(tracer, why, why_bytes);

	if (r < 0)
		return r;
	r = timer_start(tracer->timer, period_ns);
	if (r == -EACCES)
		snprintf(why, why_bytes,
			 "the CPU clock event can't be opened: kernel.perf_event_paranoid forbids "
			 "it (needed: CAP_PERFMON; with a value above 2, CAP_SYS_ADMIN)");
	else if (r < 0)
		explain(why, why_bytes, r, "the CPU clock event can't be opened");
	return r;
}

void tracer_follow_new(struct tracer *tracer, bool follow, uint32_t probes)
{
	if (!tracer->control)
		return;
	tracer->control->pending_probes = probes;
	/* Whoever execs from now on is reported, or has its new name in /proc already. */
	__atomic_store_n(&tracer->control->selection, ++tracer->selection, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tracer->control->follow_new, follow, __ATOMIC_SEQ_CST);
}

void tracer_set_budget(struct tracer *tracer, unsigned percent)
{
	tracer->budget_ppm = percent * 10000u;
	if (tracer->control)
		tracer->control->budget_ppm = tracer->budget_ppm;
}

uint32_t tracer_thinned(const struct tracer *tracer, enum probe probe)
{
	uint32_t interval = tracer->guards ? tracer->guards[probe].interval : 0;

	return interval && tracer->budget_ppm ? interval : 1;
}

void tracer_judge(struct tracer *tracer, const char comm[COMM_BYTES], enum verdict_word word)
{
	struct verdict verdict = {.selection = tracer->selection, .word = word};
	struct verdict_key key = {0};

	if (!tracer->life)
		return;
	memcpy(key.comm, comm, strnlen(comm, sizeof(key.comm)));
	bpf_map_update_elem(bpf_map__fd(tracer->life->maps.verdicts), &key, &verdict, BPF_ANY);
}

int tracer_target_set(struct tracer *tracer, pid_t tgid, const struct target_value *value,
		      bool fresh)
{
	uint32_t key = (uint32_t)tgid;

	if (!tracer->life)
		return -ENOENT;
	int r = bpf_map_update_elem(bpf_map__fd(tracer->life->maps.targets), &key, value,
				    fresh ? BPF_NOEXIST : BPF_EXIST);
	return r == -E2BIG ? -ENOSPC : r;
}

int tracer_target_get(struct tracer *tracer, pid_t tgid, struct target_value *value)
{
	uint32_t key = (uint32_t)tgid;

	if (!tracer->life)
		return -ENOENT;
	return bpf_map_lookup_elem(bpf_map__fd(tracer->life->maps.targets), &key, value);
}

void tracer_target_del(struct tracer *tracer, pid_t tgid)
{
	uint32_t key = (uint32_t)tgid;

	if (tracer->life)
		bpf_map_delete_elem(bpf_map__fd(tracer->life->maps.targets), &key);
}

struct arena *tracer_arena(const struct tracer *tracer)
{
	return tracer->arena;
}

uint64_t tracer_window(const struct tracer *tracer)
{
	return tracer->control ? tracer->control->window : 0;
}

unsigned tracer_cpus(const struct tracer *tracer)
{
	return tracer->timer ? timer_cpus(tracer->timer) : 0;
}
