// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What process PID maps and gives back by its C library's mmap() and kin, told by the tracer
 * without the daemon. Says "ready", and at each line of input tells what is mapped, as JSON; ends
 * with it. With `plain` returns are probed by programs of their own, not by sessions. usage: maps
 * PID [plain]
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "loop/loop.h"
#include "bpf/shared/packed.h"
#include "alloc/allocator.h"
#include "proc/maps.h"
#include "heap/mmap_ranges.h"
#include "hooks/hooks_state.h"
#include "kernel/window_counts.h"
#include "loop/worker.h"
#include "alloc/uprobes.h"

#define RANGES_MAX 1000

struct test {
	struct loop *loop;
	struct tracer *tracer;
	struct worker *worker;
	struct window_counts *counts;
	struct mmap_ranges *mapped;
	struct uprobes *uprobes;
	struct loop_watch input;
	struct maps maps; /* of the process */
	uint64_t stacks, strange, events, bytes, came, gone;
};

static const struct mapping *mapping_of(const struct test *test, uint64_t address)
{
	for (size_t i = 0; i < test->maps.count; i++) {
		const struct mapping *mapping = &test->maps.mappings[i];

		if (address >= mapping->start && address < mapping->end)
			return mapping;
	}
	return NULL;
}

static bool is_library(const struct mapping *mapping)
{
	return mapping && mapping->path && strstr(mapping->path, "/libc.so");
}

/* The leaf is the function, its caller in the program. */
static void on_stack(void *arg, const struct stack *stack, const uint64_t *words)
{
	struct test *test = arg;
	const struct mapping *leaf = NULL, *caller = NULL;

	if (stack->key.probe != PROBE_MEM_GLIBC)
		return;
	test->stacks++;
	if (stack->words_count >= 2) {
		leaf = mapping_of(test, words[0] & FRAME_ADDRESS);
		caller = mapping_of(test, words[1] & FRAME_ADDRESS);
	}
	if (!is_library(leaf) || !caller || is_library(caller) ||
	    words[0] >> FRAME_KIND_SHIFT != FRAME_NATIVE ||
	    words[1] >> FRAME_KIND_SHIFT != FRAME_NATIVE_RETURN)
		test->strange++;
}

static void on_mapped(void *arg, const struct mapped_event *event)
{
	struct test *test = arg;

	mmap_ranges_on_event(test->mapped, event);
	test->came += event->kind == MAPPED_CAME;
	test->gone += event->kind == MAPPED_GONE;
}

static void on_life(void *arg, const struct life_event *event)
{
	(void)arg;
	(void)event;
}

static void add_counts(struct test *test)
{
	size_t count;

	while (tracer_read_stacks(test->tracer))
		;
	if (window_counts_read(test->counts) < 0)
		exit(1);
	const struct counted *each = window_counts_list(test->counts, &count);
	for (size_t i = 0; i < count; i++) {
		if (each[i].key.stack.probe != PROBE_MEM_GLIBC || each[i].key.part != PART_MAPPED)
			continue;
		test->events += each[i].count.events;
		test->bytes += each[i].count.weight;
	}
}

/* Tells it, when the window has ended. */
static void tell(void *arg)
{
	struct test *test = arg;
	struct live_alloc *holdings = NULL;
	struct counters counters;
	uint64_t lost = 0;

	add_counts(test);
	tracer_counters(test->tracer, &counters);
	for (int i = 0; i < LOST_COUNT; i++)
		lost += counters.lost[PROBE_MEM_GLIBC][i];
	int64_t n = mmap_ranges_list(test->mapped, &holdings);
	printf("{\"held\": [");
	for (int64_t i = 0; i < n; i++)
		printf("%s[%llu, %llu]", i ? ", " : "", (unsigned long long)holdings[i].bytes,
		       (unsigned long long)holdings[i].objects);
	printf("], \"maps\": %llu, \"bytes\": %llu, \"came\": %llu, \"gone\": %llu, "
	       "\"stacks\": %llu, \"strange\": %llu, \"lost\": %llu}\n",
	       (unsigned long long)test->events, (unsigned long long)test->bytes,
	       (unsigned long long)test->came, (unsigned long long)test->gone,
	       (unsigned long long)test->stacks, (unsigned long long)test->strange,
	       (unsigned long long)lost);
	fflush(stdout);
	free(holdings);
}

static void on_input(void *arg)
{
	struct test *test = arg;
	char line[100];

	if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
		loop_stop(test->loop);
	else
		tracer_swap(test->tracer, test->worker, test->counts, tell, test);
}

/* Its mappings, as code without tables. */
static int set_target(struct test *test, pid_t pid)
{
	struct target_value target = {.id = 1, .probes = 1u << PROBE_MEM_GLIBC};
	struct arena *arena = tracer_arena(test->tracer);
	int64_t start = arena_take(arena, test->maps.count * SPAN_WORDS, true);

	if (start < 0)
		return (int)start;
	struct span *spans = (struct span *)(void *)arena_words(arena, (uint32_t)start);
	for (size_t i = 0; i < test->maps.count; i++)
		spans[i] = (struct span){.start = test->maps.mappings[i].start,
					 .end = test->maps.mappings[i].end,
					 .what = (uint32_t)SPAN_BARE << SPAN_KIND_SHIFT};
	target.spans = (uint32_t)start;
	target.spans_count = (uint32_t)test->maps.count;
	return tracer_target_set(test->tracer, pid, &target, true);
}

static int attach(struct test *test, struct why *why)
{
	const struct mapping *library = NULL;
	struct uprobe_point points[ALLOCATOR_FUNCTIONS_MAX];
	struct call_programs programs;
	struct elf_image image;
	struct allocator allocator;
	size_t count = 0;

	for (size_t i = 0; i < test->maps.count; i++)
		library = is_library(&test->maps.mappings[i]) ? &test->maps.mappings[i] : library;
	_cleanup_close_ int fd = library ? open(library->path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || elf_read(fd, &image) < 0 || allocator_read(fd, &image, &allocator) < 0)
		return -ENOENT;
	for (size_t i = 0; i < allocator.count; i++) {
		const struct allocator_function *function = &allocator.functions[i];

		if (CALLS_MAPPING & 1U << function->call)
			points[count++] =
				(struct uprobe_point){.call = function->call,
						      .offset = function->file_offset,
						      .cookie = COOKIE_CALL(function->call)};
	}
	int r = tracer_call_programs(test->tracer, &programs);
	if (r < 0)
		return r;
	return uprobes_open(&test->uprobes, fd, points, count, &programs, why);
}

static int begin(struct test *test, pid_t pid, bool plain)
{
	static const struct tracer_sizes sizes = {.stacks = 1024,
						  .targets = 1024,
						  .stack_ring = 1 << 20,
						  .life_ring = 1 << 18,
						  .tables_bytes = 16 << 20,
						  .allocations = 1024};
	struct tracer_events events = {
		.life = on_life, .stack = on_stack, .mapped = on_mapped, .arg = test};
	struct why why = {"no memory, or no C library"};
	int r = loop_new(&test->loop);

	if (r == 0)
		r = worker_new(&test->worker, test->loop, "windows", NS_PER_S);
	if (r == 0)
		r = window_counts_new(&test->counts);
	if (r == 0)
		r = maps_read(pid, 0, &test->maps);
	if (r == 0)
		r = mmap_ranges_new(&test->mapped, RANGES_MAX);
	if (r == 0)
		r = tracer_new(&test->tracer, test->loop, &sizes, &events);
	if (r == 0)
		r = tracer_start(test->tracer, &why);
	if (r == 0 && plain)
		test->tracer->types.known.uprobe_session = 0;
	if (r == 0)
		r = tracer_calls(test->tracer, &(struct calls_settings){0}, &why);
	if (r == 0)
		r = set_target(test, pid);
	if (r == 0)
		r = attach(test, &why);
	test->input = (struct loop_watch){STDIN_FILENO, on_input, test, "test"};
	if (r == 0)
		r = loop_watch(test->loop, &test->input);
	if (r < 0)
		fprintf(stderr, "maps: %s: %s\n", why.text, strerror(-r));
	return r;
}

int main(int argc, char **argv)
{
	static struct test test;

	if (argc < 2)
		return 2;
	log_set_level(LOG_DEBUG); /* what the verifier says */
	int r = begin(&test, atoi(argv[1]), argc > 2);
	if (r == 0) {
		puts("ready");
		fflush(stdout);
		r = loop_run(test.loop);
	}
	if (test.worker)
		worker_stop(test.worker);
	worker_free(test.worker);
	uprobes_close(test.uprobes);
	window_counts_free(test.counts);
	tracer_free(test.tracer);
	mmap_ranges_free(test.mapped);
	maps_done(&test.maps);
	loop_free(test.loop);
	return r < 0;
}
