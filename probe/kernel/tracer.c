// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/tracer_part.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "life.skel.h"
#include "kernel/arena_map.h"
#include "capability/seccomp_check.h"
#include "kernel/timer.h"
#include "sample.skel.h"
#include "sample_native.skel.h"
#include "bpf/shared/packed.h"
#include "kind/kind.h"

#define LIBBPF_WORDS 4096 /* of one message */

/*
 * Logs libbpf's messages at debug level only: a failure is reported once, by us. The verifier's log
 * may be long; its end says why.
 */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (level == LIBBPF_DEBUG || vasprintf(&text, format, args) < 0)
		return 0;
	size_t len = strlen(text);
	for (char *line = text + (len > LIBBPF_WORDS ? len - LIBBPF_WORDS : 0); *line;) {
		size_t bytes = strcspn(line, "\n");

		log_debug("libbpf: %.*s", (int)bytes, line);
		line += bytes + (line[bytes] == '\n');
	}
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
	tracer->late =
		(struct loop_timer){.expired = tracer_read_late, .arg = tracer, .name = "rings"};
	tracer->barrier_fd = -1;
	tracer->sample_fd = tracer->sample_slot_fd = -1;
	tracer->types.fd = -1;
	pthread_mutex_init(&tracer->types.lock, NULL);
	tracer->groups_fd = -1;
	for (int i = 0; i < SCALED_MAX; i++)
		tracer->scaled_fds[i] = -1;
	*ret = tracer;
	return 0;
}

void tracer_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	tracer_stop(tracer);
	preload_free(tracer->preload);
	if (tracer->types.fd >= 0)
		close(tracer->types.fd);
	pthread_mutex_destroy(&tracer->types.lock);
	free(tracer);
}

/*
 * Creates an array of maps with one map in it. Updating it waits until no program runs that began
 * before (the kernel promises that for maps in maps), which a swap of windows needs.
 */
static int open_barrier(struct tracer *tracer)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);

	options.inner_map_fd = (uint32_t)bpf_map__fd(tracer->life->maps.control);
	tracer->barrier_fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "stackprobe_wait", 4, 4, 1, &options);
	return tracer->barrier_fd < 0 ? -errno : 0;
}

/* Returns how many chunks the arena may have. */
static uint32_t arena_chunks(const struct tracer *tracer)
{
	return tracer->sizes.tables_bytes / sizeof(struct chunk);
}

static int make_arena(struct tracer *tracer)
{
	struct arena_memory memory;

	tracer->arena_map = tracer_take(tracer, &loadable_arena);
	if (!tracer->arena_map)
		return -errno;
	arena_map_memory(tracer->arena_map, &memory);
	return arena_new(&tracer->arena, &memory, tracer->sizes.tables_bytes);
}

static void set_stack_sizes(const struct tracer *tracer, const struct life_bpf *life)
{
	bpf_map__set_max_entries(life->maps.counts_even, tracer_counts_max(tracer));
	bpf_map__set_max_entries(life->maps.counts_odd, tracer_counts_max(tracer));
	bpf_map__set_max_entries(life->maps.sent_even, tracer->sizes.stacks);
	bpf_map__set_max_entries(life->maps.sent_odd, tracer->sizes.stacks);
	bpf_map__set_max_entries(life->maps.stacks, tracer->sizes.stack_ring);
}

LOADABLE_FUNCTIONS(life)

static void *load_life(const struct load_from *from)
{
	struct tracer *tracer = from->tracer;
	struct life_bpf *life = tracer_open(tracer, life);

	if (!life)
		return NULL;
	bpf_map__set_max_entries(life->maps.targets, tracer->sizes.targets);
	bpf_map__set_max_entries(life->maps.life, tracer->sizes.life_ring);
	bpf_map__set_max_entries(life->maps.arena, arena_chunks(tracer));
	set_stack_sizes(tracer, life);
	return tracer_loaded(&loadable_life, life, life_bpf__load(life));
}

static bool has_life(const struct tracer *tracer)
{
	return tracer->life;
}

const struct loadable loadable_life = {
	.load = load_life,
	LOADABLE_FIELDS(life),
	.shared_at = offsetof(struct load_from, life),
	.is_loaded = has_life,
};

/* The first chunks of the arena are made on the worker too: the kernel makes who adds them wait. */
static void *load_arena(const struct load_from *from)
{
	const struct bpf_map *outer = bpf_object__find_map_by_name(from->life, "arena");
	struct arena_map *map;
	int r = arena_map_new(&map, bpf_map__fd(outer), arena_chunks(from->tracer));

	errno = -r;
	return r < 0 ? NULL : map;
}

static void destroy_arena(void *map)
{
	arena_map_free(map);
}

static bool has_arena(const struct tracer *tracer)
{
	return tracer->arena_map;
}

const struct loadable loadable_arena = {
	.load = load_arena,
	.destroy = destroy_arena,
	.is_loaded = has_arena,
};

const struct loadable *const life_loads[] = {&loadable_life, &loadable_arena, NULL};

static int begin_life(struct tracer *tracer)
{
	tracer->life = tracer_take(tracer, &loadable_life);
	if (!tracer->life)
		return -errno;
	tracer->life_object = tracer->life->obj;
	int control_fd = bpf_map__fd(tracer->life->maps.control);
	void *shared = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED,
			    control_fd, 0);
	if (shared == MAP_FAILED)
		return -errno;
	tracer->control = shared;
	tracer->control->hash_seed = hash_seed();
	tracer->control->window = tracer->next_window;
	tracer->control->budget_ppm = tracer->budget_ppm;
	tracer->control->by_cpu = tracer->by_cpu;
	int r = make_arena(tracer);
	if (r == 0)
		r = open_barrier(tracer);
	if (r < 0)
		return r;
	r = tracer_watch_life(tracer, bpf_map__fd(tracer->life->maps.life));
	if (r == 0)
		r = tracer_watch_stacks(tracer, bpf_map__fd(tracer->life->maps.stacks));
	return r < 0 ? r : life_bpf__attach(tracer->life);
}

int tracer_start(struct tracer *tracer, struct why *why)
{
	if (tracer->life)
		return 0;
	int r = begin_life(tracer);
	if (r < 0) {
		tracer_explain(why, r, "the programs that follow processes can't be loaded");
		tracer_stop(tracer);
	}
	return r;
}

static const struct loadable loadable_sample_again;

static void unload_sample(void *arg)
{
	struct tracer *tracer = arg;

	loaded_remove(tracer, NULL, tracer->sample_fd);
	walkers_remove(tracer, &loadable_sample_again);
	timer_free(tracer->timer);
	tracer->timer = NULL;
	if (tracer->sample_fd >= 0)
		close(tracer->sample_fd);
	if (tracer->sample_slot_fd >= 0)
		close(tracer->sample_slot_fd);
	tracer->sample_fd = tracer->sample_slot_fd = -1;
}

static void unload_life(struct tracer *tracer)
{
	tracer_unfollow_moves(tracer);
	tracer_unwatch_life(tracer);
	tracer_unwatch_stacks(tracer);
	tracer->life_object = NULL;
	preload_retire(tracer->preload, &loadable_life, TAKE_PTR(tracer->life));
}

void tracer_stop(struct tracer *tracer)
{
	tracer_counters(tracer, &tracer->before);
	loaded_stop(tracer);
	walkers_stop(tracer);
	if (tracer->control) {
		/*
		 * Two numbers on, so that the first new window doesn't lie where the last one may
		 * still be read.
		 */
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
	unload_life(tracer);
}

LOADABLE_FUNCTIONS(sample)
WALKING_OBJECT(sample)

static struct sample_bpf *load_sampling(const struct load_from *from, bool is_first)
{
	struct sample_bpf *sample = open_walking_sample(from);

	if (!sample)
		return NULL;
	tracer_set_stacks(sample);
	tracer_set_slot(sample, sample_slot, is_first);
	sample->rodata->page_bits = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	int r = tracer_share_maps(from->life, sample->obj);
	if (r == 0)
		r = sample_bpf__load(sample);
	return tracer_loaded(&loadable_sample, sample, r);
}

static void *load_sample_object(const struct load_from *from)
{
	return load_sampling(from, true);
}

static void *load_sample_again(const struct load_from *from)
{
	return load_sampling(from, false);
}

static bool has_sample_again(const struct tracer *tracer)
{
	return walkers_suffice(tracer, &loadable_sample_again);
}

static bool has_sample(const struct tracer *tracer)
{
	return tracer->sample_fd >= 0;
}

const struct loadable loadable_sample = {
	.load = load_sample_object,
	LOADABLE_FIELDS(sample),
	.is_loaded = has_sample,
};

static const struct loadable loadable_sample_again = {
	.load = load_sample_again,
	LOADABLE_FIELDS(sample),
	.is_loaded = has_sample_again,
};

const struct loadable *const sample_loads[] = {&loadable_sample, NULL};

static int take_over_sample(struct tracer *tracer, void *bpf)
{
	struct sample_bpf *sample = bpf;
	int r = walkers_fill(tracer, &loadable_sample_again, tracer->sample_slot_fd,
			     sample->progs.sample, sample->rodata->runtimes_walked);

	sample_bpf__destroy(sample);
	return r;
}

static int keep_slot(struct tracer *tracer, const struct sample_bpf *sample)
{
	if (!sample->rodata->hands_over)
		return 0;
	tracer->sample_slot_fd = fcntl(bpf_map__fd(sample->maps.sample_slot), F_DUPFD_CLOEXEC, 0);
	return tracer->sample_slot_fd < 0 ? -errno : 0;
}

static int keep_sample(struct tracer *tracer, const struct sample_bpf *sample)
{
	tracer->sample_fd = fcntl(bpf_program__fd(sample->progs.sample), F_DUPFD_CLOEXEC, 0);
	if (tracer->sample_fd < 0)
		return -errno;
	loaded_add(tracer, &(struct loaded){.program_fd = tracer->sample_fd,
					    .stop = unload_sample,
					    .arg = tracer});
	int r = keep_slot(tracer, sample);
	if (r < 0)
		return r;
	walkers_add(tracer, &(struct walker){.which = &loadable_sample_again,
					     .has = sample->rodata->runtimes_walked,
					     .take_over = take_over_sample});
	return timer_new(&tracer->timer, tracer->loop, tracer->sample_fd, PERF_TYPE_SOFTWARE,
			 PERF_COUNT_SW_CPU_CLOCK, false);
}

/*
 * Keeps only the program of the object, which holds the maps it needs: each map kept open would
 * need one more descriptor, of which there may be few.
 */
static int load_sample(struct tracer *tracer)
{
	struct sample_bpf *sample = tracer_take(tracer, &loadable_sample);

	if (!sample)
		return -errno;
	int r = keep_sample(tracer, sample);
	sample_bpf__destroy(sample);
	return r;
}

int tracer_load(struct tracer *tracer, struct why *why)
{
	if (tracer->sample_fd >= 0)
		return 0;
	int r = load_sample(tracer);
	if (r < 0) {
		tracer_explain(why, r, "the sampling program can't be loaded");
		unload_sample(tracer);
	}
	return r;
}

int tracer_sample(struct tracer *tracer, uint64_t period_ns, struct why *why)
{
	int r = tracer_load(tracer, why);

	if (r < 0)
		return r;
	r = timer_start(tracer->timer, period_ns);
	if (r == -EACCES && !seccomp_calls())
		why_set(why,
			"the CPU clock event can't be opened: kernel.perf_event_paranoid forbids "
			"it (needed: CAP_PERFMON; with a value above 2, CAP_SYS_ADMIN)");
	else if (r < 0)
		tracer_explain(why, r, "the CPU clock event can't be opened");
	return r;
}

void tracer_sample_stop(struct tracer *tracer)
{
	unload_sample(tracer);
}

void tracer_follow_new(struct tracer *tracer, bool follow, uint32_t probes)
{
	if (!tracer->control)
		return;
	tracer->control->pending_probes = probes;
	/* A process that execs from now on is reported, or has its new name in /proc already. */
	__atomic_store_n(&tracer->control->selection, ++tracer->selection, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tracer->control->follow_new, follow, __ATOMIC_SEQ_CST);
}

void tracer_set_budget(struct tracer *tracer, unsigned percent)
{
	tracer->budget_ppm = percent * 10000u;
	if (tracer->control)
		tracer->control->budget_ppm = tracer->budget_ppm;
}

void tracer_set_by_cpu(struct tracer *tracer, uint32_t probes)
{
	tracer->by_cpu = probes;
	if (tracer->control)
		tracer->control->by_cpu = probes;
}

uint32_t tracer_thinned(const struct tracer *tracer, enum probe probe)
{
	uint32_t interval = tracer->control ? tracer->control->guards[probe].interval : 0;

	return interval && tracer->budget_ppm ? interval : 1;
}

void tracer_judge(struct tracer *tracer, const char comm[COMM_BYTES], enum verdict_word word)
{
	struct verdict verdict = {.selection = tracer->selection, .word = word};
	struct verdict_key key = {.on = VERDICT_ON_NAME};

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
	if (r == 0 && value->probes & kinds_at_switch() && tracer->events.waits)
		tracer->events.waits(tracer->events.arg);
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
